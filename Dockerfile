# Tag and digest: the tag says what it is, the digest that it stays so. Both are changed together.
ARG NODE_IMAGE=node:24.21.0-bookworm-slim@sha256:0e0ff40c39bc087845bfb27465a0df4ea419520094bc35842ff83dd8cbe6f9b6

FROM ${NODE_IMAGE} AS manifest
WORKDIR /app
COPY .npmrc package.json package-lock.json ./

FROM manifest AS build
RUN npm ci --ignore-scripts
COPY tsconfig.json tsconfig.build.json ./
COPY app app
COPY cli cli
COPY client client
COPY commands commands
COPY console console
COPY core core
COPY gateway gateway
COPY graph graph
COPY keeper keeper
COPY store store
COPY worker worker
RUN node_modules/.bin/tsc -p tsconfig.build.json && node_modules/.bin/vite build --config console/vite.config.ts

FROM manifest AS dependencies
RUN npm ci --omit=dev --ignore-scripts

FROM ${NODE_IMAGE} AS runtime
LABEL org.opencontainers.image.title="onym" \
      org.opencontainers.image.description="Event ingestion and identity: every event stored exactly once, one profile per person." \
      org.opencontainers.image.version="0.1.0" \
      org.opencontainers.image.licenses="Apache-2.0"
# Nothing is installed in a running container, and each program less is one less to keep patched.
RUN rm -rf /usr/local/lib/node_modules /opt/yarn-* /usr/local/bin/npm /usr/local/bin/npx /usr/local/bin/corepack \
      /usr/local/bin/yarn /usr/local/bin/yarnpkg \
    && install -d -o 10001 -g 10001 -m 0700 /data
WORKDIR /app
# Owned by root: what runs cannot change its own code.
COPY LICENSE package.json ./
COPY --from=dependencies /app/node_modules node_modules
COPY --from=build /app/dist dist
ENV NODE_ENV=production HOST=0.0.0.0 PORT=8080 DATA_DIR=/data
USER 10001:10001
EXPOSE 8080
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s --retries=3 \
  CMD ["node", "-e", "fetch('http://127.0.0.1:' + process.env.PORT + '/healthz').then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
# The image's own entry point is a shell script; the signals are to reach the process itself.
ENTRYPOINT []
# A request lives for milliseconds: in the default of 16 MB many outlive their generation and are copied for nothing.
CMD ["node", "--enable-source-maps", "--max-semi-space-size=32", "dist/app/main.js"]
