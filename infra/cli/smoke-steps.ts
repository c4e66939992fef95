import { setTimeout as sleep } from 'node:timers/promises';
import { gunzipSync } from 'node:zlib';
import { apiKeys } from '#contract/operations/api-keys.ts';
import { assets } from '#contract/operations/assets.ts';
import { auth } from '#contract/operations/auth.ts';
import { exports_ } from '#contract/operations/exports.ts';
import { findings } from '#contract/operations/findings.ts';
import { imports } from '#contract/operations/imports.ts';
import { policies } from '#contract/operations/policies.ts';
import { reference } from '#contract/operations/reference.ts';
import { scans } from '#contract/operations/scans.ts';
import { toOpaque } from '#domain/ids.ts';
import { type Client, createClient } from '#shared/client/client.ts';

/** What the steps of a smoke test share. */
export interface SmokeContext {
  readonly url: string;
  readonly orgId: string;
  readonly client: Client;
  readonly anonymous: Client;
  /** Of the records that this run makes. */
  readonly name: string;
  readonly repository: string | null;
  /** What takes away what was made, in the order of making. */
  readonly cleanUp: (() => Promise<unknown>)[];
  asset?: string;
}

interface SmokeStep {
  readonly title: string;
  /** The parts of the deployment that it needs. */
  readonly shows: string;
  run(context: SmokeContext): Promise<'skipped' | undefined>;
}

const END_MS = 10 * 60_000;
const POLL_MS = 2000;
/** One byte more than the gateway takes. */
const TOO_LARGE = 10 * 1024 * 1024 + 1;

export const SMOKE_STEPS: readonly SmokeStep[] = [
  {
    title: 'the API is healthy',
    shows: 'gateway, authorizer, function',
    async run({ anonymous }) {
      const { body, headers } = await anonymous.send(reference.operations.getHealth);
      expect(body.status === 'ok', `health says ${body.status}`);
      expect(headers.has('x-request-id'), 'the answer has no X-Request-ID');
    },
  },
  {
    title: 'paths that are no route get errors of the contract',
    shows: 'the permission of $default',
    async run({ url }) {
      for (const [path, status] of [
        ['/api/nothing', 404],
        ['/api/projects/', 404],
      ] as const) {
        const answer = await fetch(`${url}${path}`);
        const body = (await answer.json()) as { error?: { code?: string } };
        expect(
          answer.status === status && body.error?.code === 'not_found',
          `${path} answers ${answer.status}`,
        );
      }
    },
  },
  {
    title: 'who is not signed in is refused',
    shows: 'authorizer',
    async run({ url }) {
      const answer = await fetch(`${url}/api/findings`, {
        headers: { authorization: 'Bearer no.such.token' },
      });
      expect(answer.status === 401, `a wrong token is answered with ${answer.status}`);
    },
  },
  {
    title: 'a body over 10 MB is refused before any function',
    shows: "gateway's limits",
    async run({ url }) {
      const body = new Uint8Array(TOO_LARGE);
      const status = await fetch(`${url}/api/auth/login`, { method: 'POST', body }).then(
        (answer) => answer.status,
        // Who refuses before having read it all closes the connection on who is still writing.
        (error: unknown) => {
          if (error instanceof TypeError) return 413;
          throw error;
        },
      );
      expect(status === 413, `it is answered with ${status}`);
    },
  },
  {
    title: 'the reference page and its document are served',
    shows: 'files of a bundle',
    async run({ url, anonymous }) {
      const page = await fetch(`${url}/docs`);
      expect(page.ok && (await page.text()).includes('</html>'), `/docs answers ${page.status}`);
      await anonymous.call(reference.operations.getOpenApiDocument);
    },
  },
  {
    title: 'a key is made, used, and refused once it is revoked',
    shows: 'table, no cache of the authorizer',
    async run({ url, client, orgId, name }) {
      const made = await client.call(apiKeys.operations.createApiKey, {
        params: { org_id: orgId },
        body: { name, scopes: ['projects:read'] },
      });
      const params = { org_id: orgId, key_id: made.id };
      const withKey = createClient({ url, credential: made.key });
      await withKey.call(auth.operations.getCurrentUser);
      await client.call(apiKeys.operations.revokeApiKey, { params });
      const refused = await withKey.call(auth.operations.getCurrentUser).then(
        () => false,
        () => true,
      );
      expect(refused, 'the revoked key is still accepted');
    },
  },
  {
    title: 'a repository is registered',
    shows: 'transactions of the table',
    async run(context) {
      const { client, orgId, name } = context;
      const made = await client.call(assets.operations.addRepository, {
        params: { org_id: orgId },
        body: { name, url: `https://git.example.com/${name}.git` },
      });
      context.asset = toOpaque('asset', made.id);
      const params = { asset_id: context.asset };
      context.cleanUp.push(() => client.call(assets.operations.deleteAsset, { params }));
    },
  },
  {
    title: 'a report is imported, and its finding listed once',
    shows: 'bucket, KMS, queue, ingest',
    async run(context) {
      const { client } = context;
      const asset_id = assetOf(context);
      for (const _ of [1, 2]) {
        const scan = await client.call(imports.operations.importFindings, {
          params: { asset_id },
          query: { scanner: 'semgrep' },
          upload: JSON.stringify(report()),
          headers: { 'content-type': 'application/json' },
        });
        await ended(context, scan.id);
      }
      const list = await client.call(findings.operations.listFindings, { query: { asset_id } });
      expect(list.data.length === 1, `the same report twice makes ${list.data.length} findings`);
    },
  },
  {
    title: 'a report is uploaded to the bucket and taken in by itself',
    shows: "presigned address, the bucket's notification",
    async run(context) {
      const body = JSON.stringify(report());
      const { upload, scan } = await context.client.call(imports.operations.createImportUrl, {
        params: { asset_id: assetOf(context) },
        body: { bytes: Buffer.byteLength(body), scanner: 'semgrep', content_type: 'application/json' },
      });
      const answer = await fetch(upload.url, { method: upload.method, headers: upload.headers, body });
      expect(answer.ok, `the bucket answers ${answer.status}`);
      await ended(context, scan.id);
    },
  },
  {
    title: 'a policy judges a finding',
    shows: 'the policy engine in a bundle',
    async run({ client }) {
      const rego =
        'package svc.triage\nimport rego.v1\ndecision := "reject" if input.finding.severity == "high"';
      const input = { finding: { severity: 'high' } };
      const answer = await client.call(policies.operations.evaluatePolicy, {
        body: { kind: 'triage', rego, input },
      });
      expect('decision' in answer && answer.decision === 'reject', 'the policy does not reject');
    },
  },
  {
    title: 'findings are exported to a file',
    shows: 'export queue, presigned download',
    async run(context) {
      const { client } = context;
      const { id } = await client.call(exports_.operations.exportFindings, {
        body: { format: 'jsonl', filter: { asset_id: assetOf(context) } },
      });
      const made = await until('the export', async () => {
        const state = await client.call(exports_.operations.getFindingExport, { params: { export_id: id } });
        expect(state.status !== 'failed', `the export failed: ${state.error?.message}`);
        return state.url;
      });
      const answer = await fetch(made);
      expect(answer.ok, `the bucket answers ${answer.status}`);
      const lines = gunzipSync(Buffer.from(await answer.arrayBuffer()))
        .toString()
        .trim()
        .split('\n');
      expect(lines.length === 1, `the file has ${lines.length} lines`);
    },
  },
  {
    title: 'a repository is scanned',
    shows: 'planner, dispatcher, state machine, Fargate, image, clone, ingest',
    async run(context) {
      if (context.repository === null) return 'skipped';
      const target_id = await registered(context, context.repository);
      const scan = await context.client.call(scans.operations.createScan, {
        body: { scope: 'asset', target_id, scanners: ['gitleaks'] },
      });
      await ended(context, scan.id);
      return undefined;
    },
  },
];

/** The asset of a repository: one that is there already stays. */
async function registered({ client, orgId, name, cleanUp }: SmokeContext, url: string): Promise<string> {
  const params = { org_id: orgId };
  const held = await client.call(assets.operations.listRepositories, { params });
  const known = held.find((one) => one.clone_url === url);
  if (known) return toOpaque('asset', known.id);
  const made = await client.call(assets.operations.addRepository, {
    params,
    body: { name: `${name}-repository`, url },
  });
  const asset_id = toOpaque('asset', made.id);
  cleanUp.push(() => client.call(assets.operations.deleteAsset, { params: { asset_id } }));
  return asset_id;
}

/** One finding, in SARIF. */
function report() {
  const physicalLocation = { artifactLocation: { uri: 'smoke.py' }, region: { startLine: 1 } };
  const result = {
    ruleId: 'smoke',
    level: 'error',
    message: { text: 'Smoke' },
    locations: [{ physicalLocation }],
  };
  return { version: '2.1.0', runs: [{ tool: { driver: { name: 'Semgrep' } }, results: [result] }] };
}

async function ended({ client }: SmokeContext, scanId: string): Promise<void> {
  const scan = await until('the scan', async () => {
    const held = await client.call(scans.operations.getScan, { params: { scan_id: scanId } });
    return held.status === 'queued' || held.status === 'running' ? null : held;
  });
  expect(scan.status === 'completed', `the scan ${scan.id} is ${scan.status}: ${JSON.stringify(scan.error)}`);
}

async function until<T>(what: string, look: () => Promise<T | null>): Promise<T> {
  const deadline = Date.now() + END_MS;
  for (;;) {
    const found = await look();
    if (found !== null) return found;
    if (Date.now() > deadline) throw new Error(`${what} did not end within ${END_MS / 60_000} minutes`);
    await sleep(POLL_MS);
  }
}

function assetOf({ asset }: SmokeContext): string {
  if (asset === undefined) throw new Error('there is no asset: an earlier step failed');
  return asset;
}

function expect(holds: boolean, problem: string): asserts holds {
  if (!holds) throw new Error(problem);
}
