"""What an object store answers, as errors that say what to do."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator

from windrow.core.errors import WindrowError

_CODE = re.compile(r"<Code>(.*?)</Code>(?:\s*<Message>(.*?)</Message>)?", re.DOTALL)
_STATUS = re.compile(r"status code: ([0-9]{3}[^:<]*)")
_METADATA = ("169.254.169.254", "fd00:ec2::254", "/latest/api/token", "/latest/meta-data")
"""Where credentials are asked for when the environment has none."""
_CREDENTIALS = (
    "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY (and AWS_SESSION_TOKEN for temporary ones)"
)
_WRONG_KEYS = {"InvalidAccessKeyId", "SignatureDoesNotMatch", "ExpiredToken", "InvalidToken"}


class StoreError(WindrowError):
    """An object store refused, or could not be reached.

    ``uncertain`` says that the request may have been carried out all the same, or may still be.
    """

    uncertain = False


@contextlib.contextmanager
def translate_store_errors(where: str) -> Iterator[None]:
    """The client's errors as a ``StoreError``; an object that is not there stays what it is."""
    try:
        yield
    except (WindrowError, KeyboardInterrupt):
        raise
    except FileNotFoundError as error:
        if _code(str(error)) == "NoSuchBucket":
            raise _bucket_missing(where) from error
        raise FileNotFoundError(where) from error
    except Exception as error:  # the client has classes of its own, which are not imported for this
        raise store_error(where, error) from error


def store_error(where: str, error: BaseException) -> StoreError:
    """What to say of an error of the client."""
    text, kind = str(error), type(error).__name__
    code = _code(text)
    if code == "NoSuchBucket":
        return _bucket_missing(where)
    if any(address in text for address in _METADATA):
        return StoreError(where=where, expected="credentials", found="none", remedy=_CREDENTIALS)
    if code in _WRONG_KEYS or kind == "UnauthenticatedError":
        return StoreError(
            where=where,
            expected="credentials that the store accepts",
            found=_summary(text),
            remedy=_CREDENTIALS,
        )
    status = _STATUS.search(text)
    if kind == "PermissionDeniedError" or (status is not None and status[1].startswith("403")):
        return StoreError(
            where=where,
            expected="permission to list, read, write and delete there",
            found=_summary(text),
            remedy="allow s3:ListBucket on the bucket, and s3:GetObject, s3:PutObject and "
            "s3:DeleteObject on its objects",
        )
    found = StoreError(
        where=where,
        expected="an answer of the object store",
        found=_summary(text),
        remedy="check the network, AWS_ENDPOINT_URL and AWS_REGION, then try again",
    )
    found.uncertain = status is None or not status[1].startswith("4")
    return found


def _bucket_missing(where: str) -> StoreError:
    return StoreError(
        where=where,
        expected="a bucket",
        found="none of that name",
        remedy="create it, or correct its name or AWS_ENDPOINT_URL",
    )


def _code(text: str) -> str:
    found = _CODE.search(text)
    return "" if found is None else found[1]


def _summary(text: str) -> str:
    """The store's own words if it said something, else the end of the client's first line."""
    said = _CODE.search(text)
    if said is not None:
        return f"{said[1]}: {said[2]}" if said[2] else said[1]
    status = _STATUS.search(text)
    if status is not None:
        return status[1].strip()
    first = text.partition("\n")[0]
    return first.rpartition(" - ")[2] or type(text).__name__
