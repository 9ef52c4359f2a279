"""How the stand-in for the Hub refuses and fails."""

from dataclasses import dataclass

from starlette.exceptions import HTTPException

from support.hub_contents import code_of

REFUSALS = ("401", "403", "gated", "404", "429", "500")
"""Misbehaviours in the place of the answer, for HEAD as for GET."""
BODIES = ("slow", "stall", "cut", "wrong-length", "damaged")
"""Misbehaviours of the body: HEAD is answered truly, and is not counted."""


@dataclass
class Fault:
    what: str
    how: str
    times: float
    seconds: float


INVALID = HTTPException(
    401,
    "Invalid credentials in Authorization header",
    {"X-Error-Message": "Invalid credentials in Authorization header"},
)


def no_repository(*, anonymous: bool) -> HTTPException:
    """The anonymous are not told whether there is such a repository."""
    if anonymous:
        return HTTPException(401, "Invalid username or password.", code_of("RepoNotFound"))
    return HTTPException(404, "Repository not found", code_of("RepoNotFound"))


def gated(*, anonymous: bool) -> HTTPException:
    if anonymous:
        return HTTPException(401, "Access to this repository is restricted. Please log in.", code_of("GatedRepo"))
    return HTTPException(403, "You are not in the authorized list. Ask for access.", code_of("GatedRepo"))


def refusal(fault: Fault, has_token: bool) -> HTTPException:
    match fault.how:
        case "401":
            return INVALID
        case "403":
            return HTTPException(403, "Forbidden", {"X-Error-Message": "You have no access to this resource"})
        case "gated":
            return gated(anonymous=not has_token)
        case "404":
            return no_repository(anonymous=False)
        case "429":
            return HTTPException(429, "Too many requests", {"Retry-After": f"{fault.seconds:.0f}"})
    return HTTPException(500, "Internal error")
