"""Model information as servers of several products report it, according to their documentation."""

from typing import Any

from tests.server.replies import Raw, reply_json

Pages = dict[str, Raw]


def models(*ids: str, owner: str = "library", **options: Any) -> Raw:
    """Return the reply to `GET /v1/models`."""
    entries = [
        {"id": i, "object": "model", "created": 1, "owned_by": owner, **options} for i in ids
    ]
    return reply_json({"object": "list", "data": entries})


def ollama(name: str, size: int | None = None, *, num_ctx: int | None = None) -> Pages:
    """Return Ollama's replies: for a model loaded with a window of `size`, or not loaded."""
    details = {"format": "gguf", "family": "qwen3", "parameter_size": "8.2B"}
    loaded = {
        "name": name,
        "model": name,
        "size": 6_591_830_464,
        "details": details,
        "expires_at": "2026-10-17T16:47:07.93355-07:00",
        "size_vram": 5_333_539_264,
        "context_length": size,
    }
    lines = ["temperature                    0.6", 'stop                           "<|im_end|>"']
    lines += [f"num_ctx                        {num_ctx}"] if num_ctx else []
    about = {
        "modelfile": "# …",
        "parameters": "\n".join(lines),
        "template": "…",
        "details": details,
        "model_info": {"general.architecture": "qwen3", "qwen3.context_length": 40_960},
        "capabilities": ["completion", "tools"],
    }
    return {
        "/v1/models": models(name),
        "/api/ps": reply_json({"models": [loaded] if size else []}),
        "/api/show": reply_json(about),
    }


def llama_cpp(name: str, size: int) -> Pages:
    """Return llama-server's replies; its list of models has only the window used in training."""
    meta = {"vocab_type": 2, "n_vocab": 151_936, "n_ctx_train": 40_960, "n_embd": 4_096}
    settings = {"id": 0, "id_task": -1, "n_ctx": size, "speculative": False, "params": {}}
    props = {"default_generation_settings": settings, "total_slots": 1, "model_path": "m.gguf"}
    return {"/v1/models": models(name, owner="llamacpp", meta=meta), "/props": reply_json(props)}


def vllm(name: str, size: int) -> Pages:
    """Return vLLM's replies."""
    return {"/v1/models": models(name, owner="vllm", root=name, parent=None, max_model_len=size)}


def lm_studio(name: str, size: int | None = None) -> Pages:
    """Return LM Studio's replies: for a model loaded with a window of `size`, or not loaded."""
    entry = {
        "id": name,
        "object": "model",
        "type": "llm",
        "publisher": "lmstudio-community",
        "arch": "qwen3",
        "state": "loaded" if size else "not-loaded",
        "max_context_length": 131_072,
    }
    entry |= {"loaded_context_length": size} if size else {}
    other = {**entry, "id": "text-embedding-nomic-embed-text-v1.5", "max_context_length": 2_048}
    return {
        "/v1/models": models(name, "other", owner="organization_owner"),
        "/api/v0/models": reply_json({"object": "list", "data": [other, entry]}),
    }
