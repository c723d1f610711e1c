# The workbench in a container. Its log has the link with the token; keep it on this machine, or put a TLS proxy in front:
#
#   docker build --file deploy/workbench.Dockerfile --tag shoal-workbench .
#   docker run --read-only --tmpfs /tmp --hostname localhost --publish 127.0.0.1:8137:8137 --volume "$PWD/data:/data" --volume shoal:/var/lib/shoal shoal-workbench
#
# The folder of the data must be readable, and for releases writable, by the user 10001 (sudo chown 10001 data).
FROM python:3.12-slim-bookworm AS build
WORKDIR /source
COPY pyproject.toml README.md LICENSE ./
COPY src ./src
RUN python -m venv /opt/shoal \
    && /opt/shoal/bin/pip install --no-cache-dir ".[web,formats,databases,frames,duckdb]"

FROM python:3.12-slim-bookworm
LABEL org.opencontainers.image.title="Shoal workbench" org.opencontainers.image.licenses="Apache-2.0"
RUN useradd --uid 10001 --home-dir /var/lib/shoal --create-home --shell /usr/sbin/nologin shoal \
    && install -d -o shoal -g shoal -m 0700 /data
COPY --from=build /opt/shoal /opt/shoal
ENV PATH=/opt/shoal/bin:$PATH \
    HOME=/var/lib/shoal \
    PYTHONDONTWRITEBYTECODE=1
USER 10001
WORKDIR /var/lib/shoal
# Compiled once, here, into the home folder: a volume made from it begins with them, and the root stays read-only.
RUN shoal warm-up
VOLUME /var/lib/shoal
EXPOSE 8137
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=15s --timeout=6s --start-period=60s --retries=3 \
    CMD ["python", "-c", "import http.client; c = http.client.HTTPConnection('127.0.0.1', 8137, timeout=5); c.request('GET', '/'); c.getresponse()"]
ENTRYPOINT ["shoal"]
CMD ["web", "--host", "0.0.0.0", "--no-browser", "--data", "/data", "--folder", "/var/lib/shoal"]
