# Made by scripts/write_deploy.py from langgraph.json: change that one, not this.
FROM langchain/langgraph-api:3.11

# Programs that the tools start: a browser and its fonts, a sandbox, git and ps.
RUN apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends bubblewrap chromium fonts-noto-cjk git procps && rm -rf /var/lib/apt/lists/*
# Packages are installed before the code is copied, so that a change of the code reuses the layer.
COPY pyproject.toml /tmp/manus/pyproject.toml
RUN uv pip install --system --no-cache-dir -c /api/constraints.txt -r /tmp/manus/pyproject.toml --extra data --extra mcp --extra postgres && rm -r /tmp/manus
# A user for `user: manus`, and the directories for workspaces and records.
RUN useradd --create-home --uid 10001 manus && install --directory --owner=manus --group=manus /workspace /records
ENV MANUS_WORKSPACE=/workspace MANUS_ALLOWED_HOSTS=* MANUS_BROWSER_PATH=/usr/bin/chromium

# -- Adding local package . --
ADD . /deps/manus
# -- End of local package . --

# -- Installing all local dependencies --
RUN for dep in /deps/*; do             echo "Installing $dep";             if [ -d "$dep" ]; then                 echo "Installing $dep";                 (cd "$dep" && PYTHONDONTWRITEBYTECODE=1 uv pip install --system --no-cache-dir -c /api/constraints.txt -e .);             fi;         done
# -- End of local dependencies install --
ENV LANGGRAPH_HTTP='{"app": "manus.served:app", "cors": {"allow_origins": ["https://smith.langchain.com"], "allow_origin_regex": "http://(localhost|127\\.0\\.0\\.1)(:[0-9]+)?", "allow_methods": ["*"], "allow_headers": ["*"]}}'
ENV LANGSERVE_GRAPHS='{"agent": {"path": "manus.graph.served:agent", "description": "A general agent: code, commands, the web, files."}, "flow": {"path": "manus.graph.served:flow", "description": "Makes a plan, then has each step executed."}, "planner": {"path": "manus.graph.served:planner", "description": "A general agent that maintains its own plan."}, "browser": {"path": "manus.graph.served:browser", "description": "Works on web pages in a real browser."}, "swe": {"path": "manus.graph.served:swe", "description": "A software engineer with a shell and an editor."}, "data_analysis": {"path": "manus.graph.served:data_analysis", "description": "Computes from data files, and writes charts and reports."}}'



# -- Ensure user deps didn't inadvertently overwrite langgraph-api
RUN mkdir -p /api/langgraph_api /api/langgraph_runtime /api/langgraph_license && touch /api/langgraph_api/__init__.py /api/langgraph_runtime/__init__.py /api/langgraph_license/__init__.py
RUN PYTHONDONTWRITEBYTECODE=1 uv pip install --system --no-cache-dir --no-deps -e /api
# -- End of ensuring user deps didn't inadvertently overwrite langgraph-api --
# -- Removing build deps from the final image ~<:===~~~ --
RUN pip uninstall -y pip setuptools wheel
RUN rm -rf /usr/local/lib/python*/site-packages/pip* /usr/local/lib/python*/site-packages/setuptools* /usr/local/lib/python*/site-packages/wheel* && find /usr/local/bin -name "pip*" -delete || true
RUN rm -rf /usr/lib/python*/site-packages/pip* /usr/lib/python*/site-packages/setuptools* /usr/lib/python*/site-packages/wheel* && find /usr/bin -name "pip*" -delete || true
RUN uv pip uninstall --system pip setuptools wheel && rm /usr/bin/uv /usr/bin/uvx

WORKDIR /deps/manus
