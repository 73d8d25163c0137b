"""What a store says when it cannot do something, as an error that helps."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from robolin.errors import FileError

_VARIABLES = {
    "s3": "AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_REGION",
    "gs": "GOOGLE_SERVICE_ACCOUNT, or GOOGLE_APPLICATION_CREDENTIALS",
    "az": "AZURE_STORAGE_ACCOUNT_NAME and AZURE_STORAGE_ACCOUNT_KEY",
    "hf": "HF_TOKEN",
}
# words in what a store says, what is wrong then, and what helps
_KNOWN = (
    (("NoSuchBucket", "ContainerNotFound"), "there is no such bucket", "check its name"),
    (("PreconditionFailed", "412 Precondition"), "it was changed while it was read", "ask again"),
    # where nobody gives credentials, those of the machine itself are asked for
    (("169.254.169.254", "metadata.google"), "there are no credentials", "{variables}"),
    (("InvalidAccessKeyId", "SignatureDoesNotMatch"), "credentials are wrong", "{variables}"),
    (("401 Unauth", "403 Forbidden", "AccessDenied"), "access is denied", "{variables}"),
    (("Missing", "must be specified", "not found in"), "something is not told", "{variables}"),
    (("301 Moved", "PermanentRedirect"), "the bucket is in another region", "AWS_REGION says it"),
    (
        ("error sending request", "timed out", "dns error", "onnection"),
        "the store does not answer",
        "is there a network? AWS_ENDPOINT_URL names a store of your own",
    ),
)
_LONGEST = 300


@contextmanager
def store_errors(url: str, *, writing: bool = False) -> Iterator[None]:
    """What a library says of an object as our error."""
    try:
        yield
    except FileNotFoundError as error:
        if writing or is_about_bucket(error):
            raise store_error(url, str(error)) from error
        raise
    except OSError as error:
        if error.errno is not None:
            # a disk of this machine says so
            raise
        raise store_error(url, str(error)) from error
    except Exception as error:
        if not type(error).__module__.startswith(("obstore", "huggingface_hub", "httpx")):
            raise
        raise store_error(url, str(error)) from error


def is_about_bucket(error: FileNotFoundError) -> bool:
    """Whether not the object is missing, but all of the bucket."""
    return any(word in str(error) for word in _KNOWN[0][0])


def store_error(url: str, text: str) -> FileError:
    """The error that the words of a library come to."""
    first = text.partition("\n\nDebug source")[0]
    unknown = FileError(f"its store says: {' '.join(first.split())[:_LONGEST]}", where=url)
    return known_problem(url, text) or unknown


def known_problem(url: str, text: str) -> FileError | None:
    """The error that some words tell of, None if they tell of none."""
    for words, message, hint in _KNOWN:
        if any(word in text for word in words):
            variables = f"credentials come from {_VARIABLES[url.partition(':')[0]]}"
            return FileError(message, where=url, hint=hint.format(variables=variables))
    return None
