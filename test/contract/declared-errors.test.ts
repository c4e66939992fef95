import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import * as z from 'zod';
import type { ErrorCode } from '#contract/errors.ts';
import { operations } from '#contract/index.ts';
import { errorsOf, type Operation, statusOf } from '#contract/operation.ts';
import { ID_PREFIXES, type IdKind, toOpaque } from '#domain/ids.ts';
import { PERMISSIONS, type PermissionScope } from '#domain/vocabulary.ts';
import { createTokens } from '#shared/security/tokens.ts';
import { keyHandleKey, rateKey } from '#store/keys.ts';
import { request } from '#test/harness/http.ts';
import { createTestOrganization, type TestOrganization, testTable } from '#test/harness/organization.ts';
import { type Provoked, SPECIFIC, VALID } from './provocations.ts';

/**
 * Every error that an operation declares, provoked by a request: the general ones the same way for all
 * operations, the others by hand (`provocations.ts`). A code without a provocation fails the test.
 */
const UNREACHABLE: Partial<Record<ErrorCode, string>> = {
  internal_error: 'would be a defect; the property-based run finds none',
  service_unavailable: 'a store fault: injected in test/store/contention.test.ts',
  upstream_unavailable: 'a fault of another service',
};

let org: TestOrganization;
let crowded: TestOrganization;
let expiredToken: string;
const keys = { admin: '', revoked: '', expired: '', ticketsOnly: '', scansOnly: '' };

beforeAll(async () => {
  [org, crowded] = await Promise.all([createTestOrganization(), createTestOrganization()]);
  const made = await Promise.all([
    org.withKey('admin'),
    org.withKey('admin'),
    org.withKey('admin'),
    org.withKey('tickets:read'),
    org.withKey('scans:read'),
  ]);
  const [admin, revoked, expired, ticketsOnly, scansOnly] = made;
  Object.assign(keys, {
    admin: admin.key,
    revoked: revoked.key,
    expired: expired.key,
    ticketsOnly: ticketsOnly.key,
    scansOnly: scansOnly.key,
  });
  await request('DELETE', `/api/orgs/${org.orgId}/api-keys/${revoked.keyId}`, { key: org.accessToken });
  await testTable().update({
    Key: keyHandleKey(expired.key.slice('svc_ak_'.length, 'svc_ak_'.length + 16)),
    UpdateExpression: 'SET expires_at_time = :past, expires_at = :past',
    ExpressionAttributeValues: { ':past': '2020-01-01T00:00:00.000Z' },
  });
  const past = createTokens(async () => inject('service').tokenSecret, { now: () => Date.now() - 7_200_000 });
  const session = { userId: org.admin.userId, sessionId: randomUUID(), orgId: org.orgId };
  expiredToken = await past.signAccess(session);
  await crowd(crowded.orgId);
});

/** As if the organization had sent more than any tier allows, this hour and the next. */
async function crowd(orgId: string): Promise<void> {
  const hour = Math.floor(Date.now() / 3_600_000);
  for (const at of [hour, hour + 1])
    await testTable().update({
      Key: rateKey(orgId, at),
      UpdateExpression: 'ADD h :many',
      ExpressionAttributeValues: { ':many': 1_000_000_000 },
    });
}

/** An id that nobody has, in the form of the parameter. */
function strangeId(operation: Operation, name: string): string {
  if (operation.family === 'A') return randomUUID();
  const kind = (name === 'repo_id' ? 'asset' : name.replace(/_id$/, '')) as IdKind;
  return kind in ID_PREFIXES ? toOpaque(kind, randomUUID()) : randomUUID();
}

function pathOf(operation: Operation, orgId: string): string {
  return operation.path.replaceAll(/\{(\w+)\}/g, (_, name: string) =>
    name === 'org_id' ? orgId : strangeId(operation, name),
  );
}

interface Sent {
  readonly key?: string;
  readonly body?: unknown;
  readonly text?: string;
  readonly query?: string;
  readonly orgId?: string;
}

const send = (operation: Operation, { key, body, text, query = '', orgId = org.orgId }: Sent) =>
  request(operation.method, `${pathOf(operation, orgId)}${query}`, {
    ...(key !== undefined && { key }),
    ...(operation.method !== 'GET' && {
      ...(body !== undefined && { body }),
      ...(text !== undefined && { text }),
    }),
  });

/** A body of which every field is an object: of the wrong type, whatever it should be. */
function wrongBody(operation: Operation): unknown {
  const schema = operation.body && z.toJSONSchema(operation.body, { io: 'input', unrepresentable: 'any' });
  const root = schema?.$ref ? schema.$defs?.[schema.$ref.replace('#/$defs/', '')] : schema;
  const alternatives = (root?.anyOf ?? root?.oneOf ?? [root]) as { properties?: object }[];
  const names = alternatives.flatMap((one) => Object.keys(one?.properties ?? {}));
  return Object.fromEntries(names.map((name) => [name, { wrong: { type: 1 } }]));
}

/** A value of a query parameter that its schema refuses; null where every text will do. */
function wrongQuery(operation: Operation): string | null {
  const schema = operation.query;
  for (const name of Object.keys(schema?.shape ?? {})) {
    for (const value of ['§', '']) {
      const parsed = schema?.safeParse({ [name]: value });
      if (parsed?.error?.issues.some((issue) => issue.path[0] === name))
        return `?${name}=${encodeURIComponent(value)}`;
    }
  }
  return null;
}

const scopeOf = (operation: Operation) => operation.permission as PermissionScope;
const lacking = (operation: Operation) =>
  ['tickets:read', 'tickets:write'].includes(scopeOf(operation)) ? keys.scansOnly : keys.ticketsOnly;
const isOrganizations = (operation: Operation) => PERMISSIONS.includes(scopeOf(operation));

type General = (operation: Operation) => Promise<Provoked> | null;

/** Null: this operation can't give the code, for the reason beside it. */
const GENERAL: Partial<Record<ErrorCode, General>> = {
  unauthorized: (operation) => (operation.permission === 'public' ? null : send(operation, {})),
  token_invalid: (operation) =>
    operation.permission === 'public' ? null : send(operation, { key: 'eyJhbGciOiJIUzI1NiJ9.e30.AAAA' }),
  token_expired: (operation) =>
    operation.permission === 'public' ? null : send(operation, { key: expiredToken }),
  api_key_revoked: (operation) => send(operation, { key: keys.revoked }),
  api_key_expired: (operation) => send(operation, { key: keys.expired }),
  insufficient_permissions: (operation) =>
    send(operation, { key: isOrganizations(operation) ? lacking(operation) : keys.admin }),
  // Whose path names nothing but the organization: another organization's.
  not_found: (operation) => {
    if (operation.id in SPECIFIC && 'not_found' in (SPECIFIC[operation.id] ?? {})) return null;
    const own = /\{(?!org_id\})\w+\}/.test(operation.path);
    const orgId = own ? org.orgId : randomUUID();
    return send(operation, {
      key: org.accessToken,
      orgId,
      ...(operation.body && { body: VALID[operation.id]?.() ?? {} }),
      ...(operation.upload && {
        body: { version: '2.1.0', runs: [{ tool: { driver: { name: 'semgrep' } } }] },
      }),
      query: operation.id === 'addMember' ? `?user_id=${randomUUID()}` : '',
    });
  },
  invalid_parameter: (operation) => {
    const query = wrongQuery(operation);
    return query === null ? null : send(operation, { key: org.accessToken, query });
  },
  invalid_json: (operation) => send(operation, { key: org.accessToken, text: '{"a":' }),
  // Where every field is optional nothing can be missing.
  missing_field: (operation) =>
    operation.body?.safeParse({}).success ? null : send(operation, { key: org.accessToken, body: {} }),
  validation_error: (operation) =>
    operation.upload
      ? send(operation, { key: org.accessToken, body: { version: '2.1.0', runs: [] } })
      : send(operation, { key: org.accessToken, body: wrongBody(operation) }),
  payload_too_large: (operation) =>
    send(operation, {
      key: org.accessToken,
      text: `{"pad":"${'x'.repeat(operation.upload ? 4_200_000 : 1_100_000)}"}`,
    }),
  // Callers without an organization are counted by address, which all tests share: test/http/rate-windows.test.ts.
  rate_limited: (operation) =>
    operation.permission === 'public'
      ? null
      : send(operation, { key: crowded.accessToken, orgId: crowded.orgId }),
};

/** Operations that look at what exists before they look at the rest of the request. */
const LOOKS_FIRST: Readonly<Record<string, readonly ErrorCode[]>> = {
  // An unknown asset is a 404 before its report is read.
  importFindings: ['invalid_json', 'validation_error'],
};

async function provoke(operation: Operation, code: ErrorCode): Promise<Provoked | undefined> {
  const specific = SPECIFIC[operation.id]?.[code];
  if (specific) return specific(org);
  if (LOOKS_FIRST[operation.id]?.includes(code)) return null;
  return GENERAL[code]?.(operation);
}

const shown = operations.filter((operation) => !operation.internal);
const covered = { provoked: 0, impossible: 0, unreachable: 0 };

describe('declared errors', () => {
  it.each(shown.map((operation) => [operation.id, operation] as const))(
    '%s gives each of its own',
    async (id, operation) => {
      const wrong: string[] = [];
      for (const code of errorsOf(operation)) {
        if (code in UNREACHABLE) {
          covered.unreachable += 1;
          continue;
        }
        const answer = await provoke(operation, code);
        if (answer === null) {
          covered.impossible += 1;
          continue;
        }
        if (answer === undefined) {
          wrong.push(`${id} declares ${code}, and nothing here provokes it`);
          continue;
        }
        covered.provoked += 1;
        const { status, body, headers } = answer;
        const fits =
          status === statusOf(operation, code) &&
          body.error?.code === code &&
          typeof body.error.message === 'string' &&
          /^req_[0-9a-f]{32}$/.test(headers.get('x-request-id') ?? '');
        if (!fits) wrong.push(`${id} ${code}: ${status} ${JSON.stringify(body)}`);
      }
      expect(wrong).toEqual([]);
    },
  );

  it.each(
    shown
      .filter(({ family, params, query, body }) => family === 'A' && (params || query || body))
      .map((operation) => [operation.id, operation] as const),
  )('%s answers what is not valid with HTTPValidationError', async (_, operation) => {
    const named = /\{(?!org_id\})\w+\}/.test(operation.path);
    const query = wrongQuery(operation);
    const answer = operation.body
      ? await send(operation, { key: org.accessToken, text: '[' })
      : query !== null
        ? await send(operation, { key: org.accessToken, query })
        : named
          ? await request(
              operation.method,
              operation.path.replace('{org_id}', org.orgId).replace(/\{\w+\}/g, 'x'),
              {
                key: org.accessToken,
              },
            )
          : await request(operation.method, operation.path.replace('{org_id}', 'x'), {
              key: org.accessToken,
            });
    expect([answer.status, Array.isArray(answer.body.detail)], JSON.stringify(answer.body)).toEqual([
      422,
      true,
    ]);
  });
});

afterAll(() => {
  console.log(
    `declared errors: ${covered.provoked} provoked, ${covered.impossible} left out (no required field, two requests that have to meet, counters that tests share), ${covered.unreachable} that no request can cause`,
  );
});
