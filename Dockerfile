# syntax=docker/dockerfile:1
# docker build -t vouch .
# docker run -p 8000:8000 -v "$PWD/index:/data/index:ro" vouch serve --host 0.0.0.0 --index /data/index \
#     --model openai/gpt-4o-mini --api-key "$OPENAI_API_KEY"

FROM python:3.11-slim AS build
# The index of torch's CPU builds; the default one on Linux brings CUDA.
ARG TORCH_INDEX_URL=https://download.pytorch.org/whl/cpu
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1
RUN python -m venv /opt/vouch
ENV PATH=/opt/vouch/bin:$PATH
WORKDIR /src
COPY constraints.txt ./
RUN pip install --extra-index-url "$TORCH_INDEX_URL" --constraint constraints.txt torch==2.13.0
COPY pyproject.toml README.md LICENSE ./
COPY proxy ./proxy
COPY index_builder ./index_builder
COPY examples ./examples
RUN pip install --constraint constraints.txt .

FROM python:3.11-slim
RUN useradd --create-home --uid 10001 vouch && mkdir -p /data && chown vouch /data
COPY --from=build /opt/vouch /opt/vouch
ENV PATH=/opt/vouch/bin:$PATH PYTHONUNBUFFERED=1 OMP_NUM_THREADS=2
USER vouch
WORKDIR /data
EXPOSE 8000
HEALTHCHECK --interval=30s --timeout=5s --start-period=60s --retries=3 \
    CMD ["python", "-c", "import urllib.request as r; r.urlopen('http://127.0.0.1:8000/readyz', timeout=4)"]
ENTRYPOINT ["vouch"]
CMD ["serve", "--host", "0.0.0.0", "--index", "/data/index"]
