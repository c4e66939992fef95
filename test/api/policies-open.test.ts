import { randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, it } from 'vitest';
import { policies } from '#contract/operations/policies.ts';
import { fromOpaque, toOpaque } from '#domain/ids.ts';
import { seedFindings } from '#test/harness/findings.ts';
import { request } from '#test/harness/http.ts';
import { createTestOrganization, type TestOrganization } from '#test/harness/organization.ts';

const { operations } = policies;
let org: TestOrganization;
beforeAll(async () => {
  org = await createTestOrganization();
});

const name = () => `policy ${randomUUID()}`;
const triage = (rules: string) => `package svc.triage\n\nimport rego.v1\n\n${rules}\n`;
const WITH_TESTS = triage(`decision := "reject" if input.finding.epss_score < 0.1

test_unlikely_is_rejected if decision == "reject" with input as {"finding": {"epss_score": 0.01}}

test_wrong if {
  print("here")
  decision == "accept" with input as {"finding": {"epss_score": 0.01}}
}`);
const inOrg = () => ({ org_id: org.orgId });
const at = (policy: { id: string }) => ({ org_id: org.orgId, policy_id: policy.id });
const post = (path: string, body?: unknown, method = 'POST') =>
  request(method, `/api/orgs/${org.orgId}/open-policies${path}`, {
    key: org.accessToken,
    ...(body !== undefined && { body }),
  });
const create = (rego = WITH_TESTS, more: object = {}) =>
  org.client.call(operations.createOpenPolicy, {
    params: inOrg(),
    body: { name: name(), kind: 'triage', rego, ...more },
  });

describe('open policies', () => {
  it('are the same records as policies', async () => {
    const { asset } = await seedFindings(org, []);
    const made = await create(WITH_TESTS, { scope: 'asset', scope_target_id: asset.id.toUpperCase() });
    expect(made).toMatchObject({ scope: 'asset', scope_target_id: asset.id, version: 1, warnings: [] });
    const opaque = { policy_id: toOpaque('policy', made.id) };
    expect(await org.client.call(operations.getPolicy, { params: opaque })).toMatchObject({
      name: made.name,
      scope_target_id: toOpaque('asset', asset.id),
    });
    const changed = await org.client.call(operations.updateOpenPolicy, {
      params: at(made),
      body: { description: 'new', message: 'why' },
    });
    expect(changed).toMatchObject({ id: made.id, description: 'new', version: 2 });
    const { warnings: _, ...read } = changed;
    expect(await org.client.call(operations.getOpenPolicy, { params: at(made) })).toEqual(read);
    const listed = await org.client.call(operations.listOpenPolicies, { params: inOrg() });
    expect(listed).toContainEqual(read);
    const page = await org.client.call(operations.listOpenPolicies, {
      params: inOrg(),
      query: { page: '1', per_page: '1' },
    });
    expect(page).toHaveLength(1);
    expect(await org.client.call(operations.deleteOpenPolicy, { params: at(made) })).toEqual({
      id: made.id,
      deleted: true,
    });
    expect((await post(`/${made.id}`, undefined, 'GET')).status).toBe(404);
    expect((await org.client.call(operations.listPolicyVersions, { params: opaque })).versions).toHaveLength(
      2,
    );
  });

  it('answer what is wrong with detail, and with the code where there is one', async () => {
    const wrong = async (change: object) => {
      const { status, body } = await post('', { name: name(), kind: 'triage', rego: WITH_TESTS, ...change });
      return { status, ...body };
    };
    expect(await wrong({ kind: 'x' })).toMatchObject({
      status: 422,
      detail: [{ loc: ['body', 'kind'], type: 'invalid_policy_kind' }],
      error: { code: 'invalid_policy_kind' },
    });
    const parse = await wrong({ rego: triage('a { input.x }\n\nb { input.y }') });
    expect(parse).toMatchObject({
      status: 422,
      detail: [
        {
          loc: ['body', 'rego'],
          msg: 'line 5: `if` keyword is required before rule body',
          type: 'rego_parse_error',
        },
        { loc: ['body', 'rego'] },
      ],
      error: {
        code: 'rego_parse_error',
        details: [{ field: 'line 5', row: 5, col: 1 }, { field: 'line 7' }],
      },
    });
    const missing = await wrong({ scope: 'project', scope_target_id: randomUUID() });
    expect(missing).toMatchObject({ status: 422, detail: [{ loc: ['body', 'scope_target_id'] }] });
    expect(missing.error).toBeUndefined();
    expect(await wrong({ scope: 'team' })).toMatchObject({
      detail: [{ msg: 'scope must be one of organization, project, asset' }],
    });
    const verbose = await request('POST', `/api/orgs/${org.orgId}/open-policies?verbose=true`, {
      key: org.accessToken,
      body: { name: name(), kind: 'triage', rego: triage('a { input.x }') },
    });
    expect(verbose.body.suggestion).toBe('line 5: a if { input.x }');
  });

  it('are validated: all errors and warnings', async () => {
    const made = await create('package svc.triage\n\ndecision = "accept"\n');
    const answer = await org.client.call(operations.validateOpenPolicy, { params: at(made) });
    expect(answer).toMatchObject({ valid: true, errors: [] });
    expect(answer.warnings).toContainEqual({
      code: 'equals_in_head',
      field: 'line 3',
      message: expect.any(String),
      row: 3,
      col: expect.any(Number),
      suggestion: 'decision := "accept"',
    });
  });

  it('are warned, and told where they are tried, of a decision that can’t be used', async () => {
    const made = await create('package svc.priority\n\nimport rego.v1\n\npriority := "urgent"\n', {
      kind: 'priority',
    });
    const message = 'priority must be p0 to p4 or a number up to 2^53, not "urgent"';
    const warning = { code: 'unusable_decision', field: 'line 5', message, row: 5, col: 1, suggestion: null };
    expect(made.warnings).toEqual([warning]);
    expect(await org.client.call(operations.validateOpenPolicy, { params: at(made) })).toEqual({
      valid: true,
      errors: [],
      warnings: [warning],
    });
    const error = { code: 'policy_evaluation_error', message };
    const test = (body: object) => org.client.call(operations.testOpenPolicy, { params: at(made), body });
    expect(await test({ input: {} })).toMatchObject({ decision: 'urgent', error });
    const { records } = await seedFindings(org, [{}]);
    expect(await test({ finding_ids: [records[0]?.id] })).toMatchObject({ results: [{ error }] });
    const runs = await org.client.call(operations.listOpenPolicyRuns, { params: at(made) });
    expect(runs).toMatchObject([
      { decisions: {}, errors: 1, error },
      { decisions: {}, errors: 1, error },
    ]);
  });

  it('are tried inline, by source or policy, with an input or findings', async () => {
    const body = { kind: 'triage', rego: WITH_TESTS, input: { finding: { epss_score: 0.5 } } };
    const inline = await org.client.call(operations.testInlinePolicy, { params: inOrg(), body });
    expect(inline).toMatchObject({
      decision: null,
      result: {},
      policy_id: null,
      tests: [
        { name: 'test_unlikely_is_rejected', outcome: 'pass' },
        { name: 'test_wrong', outcome: 'fail', output: [{ row: 10, text: 'here' }] },
      ],
    });
    const made = await create();
    const { records } = await seedFindings(org, [{}, {}]);
    const finding_ids = records.map(({ id }) => id);
    const listed = await org.client.call(operations.testInlinePolicy, {
      params: inOrg(),
      body: { policy_id: made.id, finding_ids },
    });
    expect(listed).toMatchObject(
      finding_ids.map((finding_id) => ({ finding_id, decision: 'reject', policy_id: made.id, version: 1 })),
    );
    const unknown = await post('/test-inline', { policy_id: randomUUID(), input: {} });
    expect([unknown.status, unknown.body.detail]).toMatchObject([422, [{ loc: ['body', 'policy_id'] }]]);
  });

  it('run their own tests, by name, with an input, findings or nothing', async () => {
    const made = await create();
    const test = (body: object) => org.client.call(operations.testOpenPolicy, { params: at(made), body });
    const tests = [
      { name: 'test_unlikely_is_rejected', outcome: 'pass' },
      { name: 'test_wrong', outcome: 'fail' },
    ];
    expect(await test({})).toMatchObject({ policy_id: made.id, version: 1, results: [], tests });
    expect(await test({ input: { finding: { epss_score: 0 } } })).toMatchObject({
      decision: 'reject',
      tests,
    });
    const { records } = await seedFindings(org, [{}]);
    expect(await test({ finding_ids: [records[0]?.id] })).toMatchObject({
      results: [{ decision: 'reject', finding_id: records[0]?.id }],
      tests,
    });
    expect((await post(`/${randomUUID()}/test`, {})).status).toBe(404);
  });

  it('remember each evaluation of theirs as a run', async () => {
    const made = await create(
      triage('decision := input.a if input.a\n\ndecision := input.b if input.b\n\ntest_true if true'),
    );
    const policy_id = toOpaque('policy', made.id);
    const evaluate = (input: object) =>
      request('POST', '/api/policies/evaluate', { key: org.accessToken, body: { policy_id, input } });
    await evaluate({ a: 'accept' });
    expect((await evaluate({ a: 1, b: 2 })).status).toBe(422);
    await org.client.call(operations.updateOpenPolicy, { params: at(made), body: {} });
    await org.client.call(operations.testOpenPolicy, { params: at(made), body: { input: { b: 'reject' } } });
    const runs = await org.client.call(operations.listOpenPolicyRuns, { params: at(made) });
    expect(runs).toMatchObject([
      {
        policy_id: made.id,
        version: 2,
        trigger: 'test',
        evaluated: 1,
        decisions: { reject: 1 },
        errors: 0,
        tests: { passed: 1, failed: 0 },
      },
      {
        version: 1,
        trigger: 'evaluate',
        decisions: {},
        errors: 1,
        error: { code: 'policy_conflict' },
        tests: null,
      },
      { version: 1, trigger: 'evaluate', decisions: { accept: 1 }, errors: 0, error: null },
    ]);
    const second = await org.client.call(operations.listOpenPolicyRuns, {
      params: at(made),
      query: { page: '2', per_page: '1' },
    });
    expect(second).toEqual([runs[1]]);
    expect(fromOpaque('policy', policy_id)).toBe(made.id);
  });
});
