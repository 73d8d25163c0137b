"""Parts computed by the workers of a Dask cluster; the files are written by robolin alone."""

from robolin.batch.cluster_compute import compute

__all__ = ["compute"]
