import { randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, it } from 'vitest';
import { assets } from '#contract/operations/assets.ts';
import { policies } from '#contract/operations/policies.ts';
import { projects } from '#contract/operations/projects.ts';
import { fromOpaque, toOpaque } from '#domain/ids.ts';
import { auditPartition } from '#store/keys.ts';
import { createPolicyStore } from '#store/policies.ts';
import { createPolicyCodeStore } from '#store/policy-code.ts';
import { seedFindings } from '#test/harness/findings.ts';
import { request } from '#test/harness/http.ts';
import { createTestOrganization, type TestOrganization, testTable } from '#test/harness/organization.ts';

const { operations } = policies;
let org: TestOrganization;
beforeAll(async () => {
  org = await createTestOrganization();
});

const name = () => `policy ${randomUUID()}`;
const triage = (rules: string) => `package svc.triage\n\nimport rego.v1\n\n${rules}\n`;
const ACCEPT = triage('decision := "accept"');
const REJECT = triage('decision := "reject"');
const create = (body: object = {}, by = org) =>
  by.client.call(operations.createPolicy, { body: { name: name(), kind: 'triage', rego: ACCEPT, ...body } });
const at = (policy: { id: string }) => ({ policy_id: policy.id });
const post = (path: string, body?: unknown, method = 'POST') =>
  request(method, path, { key: org.accessToken, ...(body !== undefined && { body }) });

describe('policies', () => {
  it('are created inactive as version 1, read, listed, changed and deleted', async () => {
    const made = await create({ name: 'Noise', description: 'What nobody looks at', message: 'first' });
    expect(made).toMatchObject({
      name: 'Noise',
      description: 'What nobody looks at',
      kind: 'triage',
      scope: 'organization',
      scope_target_id: null,
      active: false,
      rego: ACCEPT,
      version: 1,
      warnings: [],
    });
    expect(made.id).toMatch(/^pol_[0-9a-f]{32}$/);
    const { warnings: _, ...shown } = made;
    expect(await org.client.call(operations.getPolicy, { params: at(made) })).toEqual(shown);

    const changed = await org.client.call(operations.updatePolicy, {
      params: at(made),
      body: { name: 'Less noise', description: null, rego: REJECT },
    });
    expect(changed).toMatchObject({ name: 'Less noise', description: null, rego: REJECT, version: 2 });
    const { data } = await org.client.call(operations.listPolicies, { query: { per_page: '100' } });
    expect(data.find(({ id }) => id === made.id)).toMatchObject({ version: 2, rego: REJECT });

    expect(await org.client.call(operations.deletePolicy, { params: at(made) })).toEqual({
      id: made.id,
      deleted: true,
    });
    const gone = await post(`/api/policies/${made.id}`, undefined, 'GET');
    expect([gone.status, gone.body.error?.code]).toEqual([404, 'not_found']);
    // The name is free again.
    await create({ name: 'Less noise' });
  });

  it('are listed by kind, scope and activation, sorted and by page', async () => {
    const other = await createTestOrganization();
    const project = await other.client.call(projects.operations.createProject, { body: { name: 'P' } });
    const first = await create({ name: 'b' }, other);
    await create(
      { name: 'a', kind: 'priority', rego: 'package svc.priority\n\nimport rego.v1\n\npriority := "p1"\n' },
      other,
    );
    await create({ name: 'C', scope: 'project', scope_target_id: project.id }, other);
    await other.client.call(operations.activatePolicy, { params: at(first) });
    const names = async (query: object) =>
      (await other.client.call(operations.listPolicies, { query })).data.map((policy) => policy.name);
    expect(await names({})).toEqual(['a', 'b', 'C']);
    expect(await names({ sort: '-created_at' })).toEqual(['C', 'a', 'b']);
    expect(await names({ kind: 'triage' })).toEqual(['b', 'C']);
    expect(await names({ scope: 'project,asset' })).toEqual(['C']);
    expect(await names({ active: 'true' })).toEqual(['b']);
    const page = await other.client.call(operations.listPolicies, { query: { page: '2', per_page: '2' } });
    expect(page).toMatchObject({ data: [{ name: 'C' }], pagination: { page: 2, per_page: 2, total: 3 } });
  });

  it('have names that are unique within the organization', async () => {
    const made = await create({ name: 'Taken' });
    for (const answer of [
      await post('/api/policies', { name: ' TAKEN ', kind: 'triage', rego: ACCEPT }),
      await post(`/api/policies/${(await create()).id}`, { name: 'taken' }, 'PATCH'),
    ])
      expect([answer.status, answer.body.error?.code]).toEqual([409, 'already_exists']);
    // Its own name in another case is no conflict.
    const renamed = await org.client.call(operations.updatePolicy, {
      params: at(made),
      body: { name: 'TAKEN' },
    });
    expect(renamed.name).toBe('TAKEN');
    await create({ name: 'Taken' }, await createTestOrganization());
  });

  it('keep their kind', async () => {
    const made = await create();
    const answer = await post(`/api/policies/${made.id}`, { kind: 'priority' }, 'PATCH');
    expect([answer.status, answer.body.error?.code]).toEqual([409, 'conflict']);
    expect((await post(`/api/policies/${made.id}`, { kind: 'triage' }, 'PATCH')).status).toBe(200);
  });

  it('are activated and deactivated; saying it twice changes nothing', async () => {
    const made = await create();
    for (const active of [true, true, false, false]) {
      const operation = active ? operations.activatePolicy : operations.deactivatePolicy;
      const answer = await org.client.call(operation, { params: at(made) });
      expect(answer).toMatchObject({ active, version: 1 });
    }
    const entries = await testTable().queryAll({
      KeyConditionExpression: 'pk = :audit',
      ExpressionAttributeValues: { ':audit': auditPartition(org.orgId) },
    });
    const own = entries.filter(
      ({ target }) => (target as { id: string }).id === fromOpaque('policy', made.id),
    );
    expect(own.map(({ action }) => action)).toEqual([
      'policy.create',
      'policy.activate',
      'policy.deactivate',
    ]);
  });
});

describe('versions of policies', () => {
  it('are one a save, newest first, with author, message and activation; and read with source and scope', async () => {
    const project = await org.client.call(projects.operations.createProject, { body: { name: name() } });
    const { client } = await org.withKey('policies:read', 'policies:write');
    const made = await create({ message: 'begin' });
    await org.client.call(operations.activatePolicy, { params: at(made) });
    await client.call(operations.updatePolicy, {
      params: at(made),
      body: { rego: REJECT, message: 'stricter' },
    });
    await org.client.call(operations.updatePolicyScope, {
      params: at(made),
      body: { scope: 'project', scope_target_id: project.id },
    });
    // A save that changes nothing is a save.
    await org.client.call(operations.updatePolicy, { params: at(made), body: {} });
    const { versions } = await org.client.call(operations.listPolicyVersions, { params: at(made) });
    const { email } = org.admin;
    expect(versions.map(({ created_at: _, ...version }) => version)).toEqual([
      { version: 4, author: email, message: null, active: true },
      { version: 3, author: email, message: null, active: true },
      { version: 2, author: 'key:key policies:read policies:write', message: 'stricter', active: true },
      { version: 1, author: email, message: 'begin', active: false },
    ]);
    const read = (version: number) =>
      org.client.call(operations.getPolicyVersion, { params: { ...at(made), version: String(version) } });
    expect(await read(1)).toMatchObject({ version: 1, rego: ACCEPT, scope: 'organization', kind: 'triage' });
    expect(await read(4)).toMatchObject({ rego: REJECT, scope: 'project', scope_target_id: project.id });
  });

  it('are restored as the next one: source and scope, not activation', async () => {
    const { asset } = await seedFindings(org, []);
    const made = await create({ scope: 'asset', scope_target_id: toOpaque('asset', asset.id) });
    await org.client.call(operations.updatePolicy, {
      params: at(made),
      body: { rego: REJECT, scope: 'organization', description: 'kept' },
    });
    await org.client.call(operations.activatePolicy, { params: at(made) });
    const answer = await post(`/api/policies/${made.id}/versions/1/restore`);
    expect(answer.status).toBe(201);
    expect(answer.body).toMatchObject({
      version: 3,
      rego: ACCEPT,
      scope: 'asset',
      scope_target_id: made.scope_target_id,
      active: true,
      description: 'kept',
    });
    const { versions } = await org.client.call(operations.listPolicyVersions, { params: at(made) });
    expect(versions.map(({ version }) => version)).toEqual([3, 2, 1]);
    for (const version of ['9', '0', 'x', '1.5', '01', '%2B1', '1e0'])
      for (const [method, path] of [
        ['POST', '/restore'],
        ['GET', ''],
      ] as const) {
        const refused = await post(`/api/policies/${made.id}/versions/${version}${path}`, undefined, method);
        expect([version, refused.status]).toEqual([version, 404]);
      }
  });

  it('stay readable when the policy is deleted, and nothing else does', async () => {
    const made = await create();
    await org.client.call(operations.deletePolicy, { params: at(made) });
    const { versions } = await org.client.call(operations.listPolicyVersions, { params: at(made) });
    expect(versions).toHaveLength(1);
    const version = await org.client.call(operations.getPolicyVersion, {
      params: { ...at(made), version: '1' },
    });
    expect(version.rego).toBe(ACCEPT);
    for (const [method, path, body] of [
      ['GET', '', undefined],
      ['PATCH', '', {}],
      ['DELETE', '', undefined],
      ['POST', '/activate', undefined],
      ['POST', '/deactivate', undefined],
      ['POST', '/versions/1/restore', undefined],
      ['PATCH', '/scope', { scope: 'organization' }],
    ] as const)
      expect((await post(`/api/policies/${made.id}${path}`, body, method)).status).toBe(404);
  });

  it('never lose or repeat a number: 20 saves at once are 20 versions in a row', async () => {
    const made = await create();
    const saved = await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        org.client.call(operations.updatePolicy, {
          params: at(made),
          body: index % 2 === 0 ? { rego: triage(`decision := "${index}"`) } : { description: `by ${index}` },
        }),
      ),
    );
    const numbers = saved.map(({ version }) => version).sort((a, b) => a - b);
    expect(numbers).toEqual(Array.from({ length: 20 }, (_, index) => index + 2));
    const { versions } = await org.client.call(operations.listPolicyVersions, { params: at(made) });
    expect(versions.map(({ version }) => version)).toEqual(Array.from({ length: 21 }, (_, n) => 21 - n));
    // Each answer shows what its own version holds.
    for (const { version, rego } of saved) {
      const held = await org.client.call(operations.getPolicyVersion, {
        params: { ...at(made), version: String(version) },
      });
      expect(held.rego).toBe(rego);
    }
  });
});

describe('scopes of policies', () => {
  it('name a project or an asset of the organization', async () => {
    const other = await createTestOrganization();
    const foreign = await other.client.call(projects.operations.createProject, { body: { name: 'P' } });
    const made = await create();
    const scope = (body: unknown) => post(`/api/policies/${made.id}/scope`, body, 'PATCH');
    for (const [body, message] of [
      [{ scope: 'team' }, 'scope must be one of organization, project, asset'],
      [{ scope: 'project' }, 'scope_target_id is required for the scope project'],
      [
        { scope: 'organization', scope_target_id: foreign.id },
        'scope_target_id must be absent for the scope organization',
      ],
      [
        { scope: 'asset', scope_target_id: foreign.id },
        'scope_target_id must be an identifier of the shape asset_<id>',
      ],
    ] as const) {
      const answer = await scope(body);
      expect([answer.status, answer.body.error?.message]).toEqual([400, message]);
    }
    const answer = await scope({ scope: 'project', scope_target_id: foreign.id });
    expect([answer.status, answer.body.error?.code]).toEqual([404, 'not_found']);
    expect(answer.body.error?.details).toEqual([
      { field: 'scope_target_id', message: 'scope_target_id must name a project of the organization' },
    ]);
    const patched = await post(`/api/policies/${made.id}`, { scope_target_id: foreign.id }, 'PATCH');
    expect(patched.body.error?.details).toMatchObject([{ field: 'scope' }]);
    const { versions } = await org.client.call(operations.listPolicyVersions, { params: at(made) });
    expect(versions).toHaveLength(1);
  });
});

describe('a policy whose scope’s project or asset was deleted', () => {
  it('can’t be activated before it has another scope', async () => {
    const project = await org.client.call(projects.operations.createProject, { body: { name: name() } });
    const { asset } = await seedFindings(org, []);
    const asset_id = toOpaque('asset', asset.id);
    const ofProject = await create({ scope: 'project', scope_target_id: project.id });
    const ofAsset = await create({ scope: 'asset', scope_target_id: asset_id });
    await org.client.call(projects.operations.deleteProject, { params: { project_id: project.id } });
    await org.client.call(assets.operations.deleteAsset, { params: { asset_id } });
    for (const policy of [ofProject, ofAsset]) {
      const { status, body } = await post(`/api/policies/${policy.id}/activate`);
      expect([status, body.error?.code]).toEqual([409, 'conflict']);
      expect(body.error?.details).toMatchObject([{ field: 'scope_target_id' }]);
      // Nothing keeps it from being deactivated, or changed.
      expect((await post(`/api/policies/${policy.id}/deactivate`)).status).toBe(200);
      await post(`/api/policies/${policy.id}/scope`, { scope: 'organization' }, 'PATCH');
      expect((await post(`/api/policies/${policy.id}/activate`)).status).toBe(200);
      await post(`/api/policies/${policy.id}/deactivate`);
    }
  });
});

describe('what is wrong with a source', () => {
  const save = async (body: object, query = '') => {
    const answer = await post(`/api/policies${query}`, {
      name: name(),
      kind: 'triage',
      rego: ACCEPT,
      ...body,
    });
    return { status: answer.status, ...(answer.body.error as unknown as Record<string, unknown>) };
  };

  it('is told in this order: kind, syntax, package, compilation, conflicts', async () => {
    const broken = 'package svc.priority\n\nimport rego.v1\n\ndecision :=\n';
    expect(await save({ kind: 'x', rego: broken })).toMatchObject({
      status: 400,
      code: 'invalid_policy_kind',
      message: 'kind must be one of triage, priority, ownership, project, pr_scan',
    });
    expect(await save({ rego: broken })).toMatchObject({ status: 422, code: 'rego_parse_error' });
    const misplaced = 'package svc.priority\n\nimport rego.v1\n\ndecision := missing\n';
    expect(await save({ rego: misplaced })).toMatchObject({ status: 422, code: 'invalid_package' });
    expect(await save({ rego: triage('decision := missing') })).toMatchObject({
      status: 422,
      code: 'rego_compile_error',
      details: [{ field: 'line 5', row: 5, col: 13 }],
    });
    const conflicting = triage(
      'decision := "accept" if input.finding.severity == "high"\n\ndecision := "reject" if input.finding.cvss_score > 1',
    );
    expect(await save({ rego: conflicting })).toMatchObject({ status: 422, code: 'policy_conflict' });
  });

  it('has a detail for each error, and with verbose the corrected lines', async () => {
    const rego = triage('a { input.x }\n\nb { input.y }');
    expect(await save({ rego })).toMatchObject({
      details: [
        { field: 'line 5', row: 5, col: 1, message: '`if` keyword is required before rule body' },
        { field: 'line 7', row: 7, col: 1 },
      ],
    });
    const { suggestion } = (await save({ rego }, '?verbose=true')) as { suggestion?: string };
    expect(suggestion).toBe('line 5: a if { input.x }\nline 7: b if { input.y }');
  });

  it('refuses what policies may not call', async () => {
    const answer = await save({
      rego: triage('decision := http.send({"url": "http://x", "method": "get"})'),
    });
    expect(answer).toMatchObject({ status: 422, code: 'rego_compile_error' });
  });

  it('may be that it has no rules, or half of a character', async () => {
    expect(await save({ rego: 'package svc.triage' })).toMatchObject({
      status: 422,
      code: 'rego_compile_error',
      message:
        'line 1: The policy has no rules: a policy of the package svc.triage decides by the rule decision',
      details: [{ field: 'line 1', row: 1, col: 1 }],
    });
    expect(await save({ rego: triage('decision := "\\ud800"') })).toMatchObject({
      status: 422,
      code: 'rego_parse_error',
      details: [{ field: 'line 5', row: 5, col: 13 }],
    });
  });

  it('leaves nothing behind', async () => {
    const made = await create();
    const answer = await post(`/api/policies/${made.id}`, { rego: 'package', name: 'other' }, 'PATCH');
    expect(answer.status).toBe(422);
    expect(await org.client.call(operations.getPolicy, { params: at(made) })).toMatchObject({
      name: made.name,
      version: 1,
      rego: ACCEPT,
    });
  });

  it('warns of style, and saves', async () => {
    const made = await create({ rego: 'package svc.triage\n\ndecision = "accept"\n' });
    expect(made.warnings.map(({ code }) => code).sort()).toEqual(['equals_in_head', 'missing_import']);
    expect(made.warnings.find(({ code }) => code === 'equals_in_head')).toMatchObject({ field: 'line 3' });
  });

  it('may be as long as 100,000 characters', async () => {
    const answer = await save({ rego: `${ACCEPT}${'# x\n'.repeat(25_000)}` });
    expect(answer).toMatchObject({
      status: 400,
      code: 'validation_error',
      message: 'rego must have at most 100000 characters',
    });
  });
});

describe('what judges findings', () => {
  it('is read at once, with its code, and again without it', async () => {
    const other = await createTestOrganization();
    const active = await create({}, other);
    await create({}, other);
    await other.client.call(operations.activatePolicy, { params: at(active) });
    await other.client.call(operations.updatePolicy, { params: at(active), body: { rego: REJECT } });
    const table = testTable();
    const listed = await createPolicyStore(table).listActive(other.orgId);
    expect(listed).toMatchObject([{ version: 2, kind: 'triage', scope: 'organization' }]);
    const codes = listed.map(({ code }) => code);
    const compiled = await createPolicyCodeStore(table).readCompiled(other.orgId, codes);
    const code = compiled.get(codes[0] ?? '');
    expect(code).toMatchObject({ kind: 'triage', rego: REJECT, sets: [], evaluator: 'wasm' });
    await WebAssembly.compile(new Uint8Array(code?.wasm ?? []));
  });
});
