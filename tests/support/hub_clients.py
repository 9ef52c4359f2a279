"""Clients that ask the stand-in for the Hub."""

import functools
from pathlib import Path

import httpx2
import pytest

from support.hub import Hub

_CERTIFICATES = functools.cache(httpx2.create_ssl_context)
"""Which are read from their file once, not by every client of a hub that asks for none."""


def environment(hub: Hub, cache: Path) -> dict[str, str]:
    """For another process: the variables that point its clients at the hub, with all they keep below `cache`."""
    return {
        "HF_ENDPOINT": hub.address,
        "HF_HOME": str(cache),
        "HF_HUB_CACHE": str(cache / "hub"),
        "HF_ASSETS_CACHE": str(cache / "assets"),
        "HF_DATASETS_CACHE": str(cache / "datasets"),
        "HF_MODULES_CACHE": str(cache / "modules"),
        "HF_TOKEN_PATH": str(cache / "token"),
        "HF_TOKEN": "",
        "HF_HUB_OFFLINE": "0",
        "HF_DATASETS_OFFLINE": "0",
        "TRANSFORMERS_OFFLINE": "0",
        "HF_HUB_DISABLE_XET": "1",
        "HF_HUB_DISABLE_TELEMETRY": "1",
        "HF_HUB_DISABLE_UPDATE_CHECK": "1",
        "HF_UPDATE_DOWNLOAD_COUNTS": "0",
        "NO_PROXY": "127.0.0.1,localhost",
    }


def point_at(hub: Hub, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Point the clients of this process at the hub, with all they keep below `cache`, until the test ends.

    They read the environment once, when they are imported: what they hold of it is replaced wherever it was copied.
    """
    from huggingface_hub import hf_api, hf_file_system  # noqa: F401  # or they would keep what is set here

    for name, value in environment(hub, cache).items():
        monkeypatch.setenv(name, value)
    _point_constants(hub, cache, monkeypatch)
    _point_what_is_in_memory(hub, monkeypatch)
    _point_datasets(hub, cache, monkeypatch)


def _point_constants(hub: Hub, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What huggingface_hub read from the environment: addresses, folders and switches."""
    from huggingface_hub import constants
    from huggingface_hub.utils import _cache_manager

    monkeypatch.setattr(constants, "ENDPOINT", hub.address)
    template = hub.address + "/{repo_id}/resolve/{revision}/{filename}"
    monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", template)
    for name, path in {
        "HF_HOME": cache,
        "HF_HUB_CACHE": cache / "hub",
        "HUGGINGFACE_HUB_CACHE": cache / "hub",
        "HF_ASSETS_CACHE": cache / "assets",
        "HF_XET_CACHE": cache / "xet",
        "HF_TOKEN_PATH": cache / "token",
        "HF_STORED_TOKENS_PATH": cache / "stored_tokens",
        "AGENT_HARNESSES_PATH": cache / ".agent_harnesses.json",
    }.items():
        monkeypatch.setattr(constants, name, str(path))
    for name, value in {"OFFLINE": False, "DISABLE_XET": True, "DISABLE_TELEMETRY": True}.items():
        monkeypatch.setattr(constants, f"HF_HUB_{name}", value)
    monkeypatch.setattr(_cache_manager, "HF_HUB_CACHE", str(cache / "hub"))


def _point_what_is_in_memory(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    """What huggingface_hub and transformers made of it: clients, sessions and file systems."""
    import huggingface_hub
    from huggingface_hub import HfFileSystem, hf_api, hf_file_system
    from huggingface_hub.utils import _detect_agent, _http
    from transformers.utils import hub as transformers_hub

    monkeypatch.setattr(_detect_agent, "_registry", {"standardEnvVars": [], "harnesses": {}})
    monkeypatch.setattr(_http, "_HUB_ORIGINS", {*_http._HUB_ORIGINS, _http._url_origin(hub.address)})
    monkeypatch.setattr(hf_api.api, "endpoint", hub.address)
    monkeypatch.setattr("httpx2._transports.default.create_ssl_context", _CERTIFICATES)
    _http.close_session()
    HfFileSystem.clear_instance_cache()
    for module in (hf_file_system, huggingface_hub):
        monkeypatch.setattr(module, "hffs", HfFileSystem(skip_instance_cache=True))
    monkeypatch.setattr(transformers_hub, "_hf_api", None)


def _point_datasets(hub: Hub, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the library datasets read from the environment."""
    from datasets import config

    monkeypatch.setattr(config, "HF_ENDPOINT", hub.address)
    monkeypatch.setattr(config, "HUB_DATASETS_URL", hub.address + "/datasets/{repo_id}/resolve/{revision}/{path}")
    for name in ("HF_HUB_OFFLINE", "HF_DATASETS_OFFLINE", "HF_UPDATE_DOWNLOAD_COUNTS"):
        monkeypatch.setattr(config, name, False)
    # The dataset viewer is asked at another host, whose name is made of the address: there is none.
    monkeypatch.setattr(config, "USE_PARQUET_EXPORT", False)
    monkeypatch.setattr(config, "HF_CACHE_HOME", str(cache))
    monkeypatch.setattr(config, "HF_DATASETS_CACHE", cache / "datasets")
    monkeypatch.setattr(config, "HF_MODULES_CACHE", cache / "modules")
    monkeypatch.setattr(config, "DOWNLOADED_DATASETS_PATH", cache / "datasets" / "downloads")
    monkeypatch.setattr(config, "EXTRACTED_DATASETS_PATH", cache / "datasets" / "downloads" / "extracted")
