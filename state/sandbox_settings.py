"""Settings of the wall around the programs that a model starts."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field


class SandboxSettings(BaseModel):
    """The sandbox of a run."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: Literal["auto", "bubblewrap", "landlock", "none"] = "auto"
    """`auto` takes the strongest that works here, and refuses where none does. Environment:
    `MANUS_SANDBOX`."""
    network: Literal["off", "rules", "open"] = "rules"
    """What programs reach: nothing, what `[egress]` allows, or all that this machine does."""
    read: tuple[str, ...] = ()
    """Further files and folders that programs may read, such as a toolchain in your home."""
    memory_megabytes: int = Field(4_096, ge=64)
    """Of a call's programs together; looked at four times a second, and above it they are ended."""
    processes: int = Field(512, ge=16)
    """Of a call, at the same time; above it they are ended."""
    file_megabytes: int = Field(16_000, ge=1)
    """Of one file that a program writes."""
