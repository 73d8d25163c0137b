"""Parts computed by the workers of a Dask cluster; the files are written by robolin alone."""

from robolin.cluster.compute_there import compute

__all__ = ["compute"]
