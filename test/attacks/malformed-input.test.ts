import { beforeAll, describe, expect } from 'vitest';
import { attack } from '#test/harness/attack.ts';
import { request } from '#test/harness/http.ts';
import { freshAsset, importReport } from '#test/harness/importing.ts';
import { createTestOrganization, type TestOrganization } from '#test/harness/organization.ts';
import { sarifLog } from '#test/harness/sarif.ts';

let org: TestOrganization;
beforeAll(async () => {
  org = await createTestOrganization();
});

const add = (url: string, name = 'service') =>
  request('POST', `/api/orgs/${org.orgId}/repositories/add`, { key: org.accessToken, body: { name, url } });

describe('an address', () => {
  for (const url of [
    'http://git.example.com/%',
    'http://git.example.com/a%zz',
    'http://git.example.com/%ff%fe',
    'http://git.example.com/%c0%af',
    'file:///tmp/a%2fb%zz',
    'file:///tmp/a%2fb',
    'file:///tmp/a%5cb',
    'file:///tmp/%',
    'http://git.example.com/team/a%00b',
    'http://git.example.com/team/a%0ab',
    'http://git.example.com/team/a%e2%80%aegnp.b',
    'http://git.example.com/team/a%2f..%2fb',
    'file:///tmp/a%00b',
    'file://host/share/x',
    'http://git.example.com:99999/x',
    'http://[::1',
    'http://%00/',
    'https://git.example.com\\@127.0.0.1/x',
    'https:git.example.com/x',
    'https:///git.example.com/x',
    'https://git.example.com:0/x',
  ]) {
    attack('malformed input', 'got through', `${url} as a repository`, async () => {
      const answer = await add(url);
      expect([answer.status, answer.body.detail]).toEqual([
        422,
        [expect.objectContaining({ loc: ['body', 'url'] })],
      ]);
    });
  }
});

/** What would change how a list, a table, a log line or a terminal reads. */
const HIDDEN: readonly (readonly ['held' | 'got through', string, string])[] = [
  ['got through', 'a line break', 'a\nb'],
  ['got through', 'a carriage return', 'a\rb'],
  ['got through', 'a tab', 'a\tb'],
  ['held', 'NUL', 'a\u0000b'],
  ['held', 'an escape sequence', 'a\u001b[2Jb'],
  ['got through', 'a C1 control', 'a\u009bb'],
  ['got through', 'a line separator', 'a\u2028b'],
  ['got through', 'a paragraph separator', 'a\u2029b'],
  ['got through', 'a right-to-left override', 'a\u202eb'],
  ['got through', 'an isolate', 'a\u2066b'],
  ['got through', 'a mark of direction', 'a\u200fb'],
  ['got through', 'a zero-width space', 'a\u200bb'],
  ['got through', 'a byte order mark within', 'a\ufeffb'],
  ['got through', 'a soft hyphen', 'a\u00adb'],
  ['got through', 'a filler', 'a\u3164b'],
  ['got through', 'tag characters', 'a\u{e0041}b'],
  ['got through', 'nothing but a joiner', '\u200d'],
];

describe('a name', () => {
  for (const [history, what, name] of HIDDEN) {
    attack('malformed input', history, `with ${what}`, async () => {
      const { orgId, accessToken: key } = org;
      const inOrg = `/api/orgs/${orgId}`;
      const attempts: [string, string, object][] = [
        ['POST', '/api/orgs/', { name }],
        ['PATCH', inOrg, { name }],
        ['POST', `${inOrg}/teams/`, { name }],
        ['POST', `${inOrg}/projects`, { name }],
        ['POST', '/api/projects', { name }],
        ['POST', `${inOrg}/api-keys`, { name, scopes: ['projects:read'] }],
        ['POST', `${inOrg}/integrations`, { type: 'github', name, config: {} }],
        ['POST', `${inOrg}/repositories/add`, { name, url: 'https://git.example.com/x' }],
        ['POST', '/api/policies', { name, kind: 'triage', rego: 'package svc.triage' }],
        ['POST', '/api/organization/users', { email: 'a@example.com', name, role: 'Viewer' }],
      ];
      for (const [method, path, body] of attempts) {
        const answer = await request(method, path, { key, body });
        const told = JSON.stringify(answer.body);
        expect([path, answer.status < 500 && answer.status >= 400]).toEqual([path, true]);
        expect([path, told.includes('must be one line without control characters')]).toEqual([path, true]);
      }
    });
  }

  attack('malformed input', 'held', 'with half a character', async () => {
    const answer = await request('POST', '/api/projects', {
      key: org.accessToken,
      text: String.raw`{"name":"a\ud800b"}`,
    });
    expect([answer.status, answer.body.error?.code]).toEqual([400, 'validation_error']);
  });

  attack('malformed input', 'held', 'in a script of its own stays what it is', async () => {
    for (const name of ['مشروع', 'परियोजना', '👩‍💻 Zoë', 'می‌خواهم', 'プロジェクト']) {
      const answer = await request('POST', '/api/projects', { key: org.accessToken, body: { name } });
      expect([answer.status, answer.body.name]).toEqual([201, name]);
    }
  });

  attack('malformed input', 'got through', 'with an override in what an import says', async () => {
    const asset = await freshAsset(org);
    const text = 'reads \u202eotherwise\u2029 than it is';
    const log = sarifLog([{ path: 'src/a\u202etxt.ts', rule: 'rule\u2066x', text }], 'Tool');
    const scan = await importReport(org, asset, log, { scanner: 'semgrep' });
    expect(scan).toMatchObject({ status: 'completed', error: null });
    const list = await request('GET', `/api/assets/${asset}/findings`, { key: org.accessToken });
    expect(list.body.data).toHaveLength(1);
    expect(JSON.stringify(list.body.data)).not.toMatch(/[\u202a-\u202e\u2066-\u2069]/);
    expect(list.body.data).toMatchObject([{ location: { path: 'src/atxt.ts' } }]);
  });

  attack('malformed input', 'got through', 'with an override in prose of several lines', async () => {
    const make = (description: string) =>
      request('POST', '/api/projects', {
        key: org.accessToken,
        body: { name: `prose ${description.length}`, description },
      });
    expect((await make('first line\n\tsecond line')).status).toBe(201);
    for (const description of ['a\u202eb', 'a\u2067b', 'a\u001bb', 'a\u200b b'])
      expect((await make(description)).status).toBe(400);
  });
});
