"""Threads, device, precision, seed, and the environment before torch loads."""

import os
import subprocess
import sys

import pytest
import torch

import piran
from piran.errors import SettingError
from piran.training import (
    choose_device,
    choose_precision,
    prepare_environment,
    seeded,
    seeded_generator,
    set_threads,
)


def test_waiting_threads_sleep_unless_the_user_says_otherwise(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OMP_WAIT_POLICY", "ACTIVE")
    prepare_environment()
    assert os.environ["OMP_WAIT_POLICY"] == "ACTIVE"
    monkeypatch.delenv("OMP_WAIT_POLICY")
    prepare_environment()
    assert os.environ["OMP_WAIT_POLICY"] == "PASSIVE"


def test_the_module_loads_without_torch() -> None:
    # An empty parent package: what piran itself re-exports is not at issue here.
    program = f"""
import sys, types
sys.modules["piran"] = types.ModuleType("piran")
sys.modules["piran"].__path__ = {list(piran.__path__)!r}
import piran.training.runtime
sys.exit("torch" in sys.modules)
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)


def test_threads_are_set_and_none_leaves_them() -> None:
    before = torch.get_num_threads()
    try:
        set_threads(1)
        set_threads(None)
        assert torch.get_num_threads() == 1
    finally:
        set_threads(before)


def test_no_threads_is_refused() -> None:
    with pytest.raises(SettingError, match="threads must be at least 1, got 0"):
        set_threads(0)


@pytest.mark.parametrize(
    ("name", "has_cuda", "kind"),
    [("auto", False, "cpu"), ("auto", True, "cuda"), ("cpu", True, "cpu"), ("cuda", True, "cuda")],
)
def test_the_device_is_a_gpu_only_where_there_is_one(
    name: str, has_cuda: bool, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: has_cuda)
    assert choose_device(name).type == kind


def test_a_device_that_is_not_there_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(SettingError, match="torch finds no GPU"):
        choose_device("cuda")
    with pytest.raises(SettingError, match="device must be one of auto, cpu, cuda, got 'tpu'"):
        choose_device("tpu")


@pytest.mark.parametrize(
    ("capabilities", "precision"),
    [
        ({"avx512_f": True, "avx512_bf16": True}, "bfloat16"),
        ({"amx_bf16": True}, "bfloat16"),
        ({"avx512_f": True, "avx512_bf16": False, "amx_bf16": False}, "float32"),
        ({"architecture": "unheard of"}, "float32"),
    ],
)
def test_bfloat16_is_for_processors_that_have_it(
    capabilities: dict[str, object], precision: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: capabilities)
    monkeypatch.setattr(torch.backends.mkldnn, "is_available", lambda: True)
    assert choose_precision("auto", torch.device("cpu")) == precision
    monkeypatch.setattr(torch.backends.mkldnn, "is_available", lambda: False)
    assert choose_precision("auto", torch.device("cpu")) == "float32"


@pytest.mark.parametrize("is_native", [False, True])
def test_bfloat16_is_for_gpus_that_have_it(
    is_native: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda including_emulation: is_native)
    expected = "bfloat16" if is_native else "float32"
    assert choose_precision("auto", torch.device("cuda")) == expected


def test_a_precision_can_be_named_and_must_be_known() -> None:
    for name in ("float32", "bfloat16"):
        assert choose_precision(name, torch.device("cpu")) == name
    with pytest.raises(SettingError, match="precision must be one of auto, float32, bfloat16"):
        choose_precision("half", torch.device("cpu"))


def test_the_same_seed_gives_the_same_numbers() -> None:
    first, second = (torch.randn(3, generator=seeded_generator(7)) for _ in range(2))
    assert first.equal(second)


def test_a_seeded_block_leaves_the_global_numbers_as_they_were() -> None:
    before = torch.get_rng_state()
    with seeded(3):
        first = torch.randn(2)
    assert torch.get_rng_state().equal(before)
    with seeded(3):
        assert torch.randn(2).equal(first)
