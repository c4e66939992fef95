import { beforeAll, expect } from 'vitest';
import { findings } from '#contract/operations/findings.ts';
import { attack } from '#test/harness/attack.ts';
import { request } from '#test/harness/http.ts';
import { freshAsset, importReport, listFindingsOf, sendReport } from '#test/harness/importing.ts';
import { createTestOrganization, type TestOrganization } from '#test/harness/organization.ts';
import { sarifLog } from '#test/harness/sarif.ts';

/** DynamoDB refuses a sort key of more than 1,024 bytes: no text of a caller's may make one. */

let org: TestOrganization;
beforeAll(async () => {
  org = await createTestOrganization();
});

const post = (path: string, body: object) => request('POST', path, { key: org.accessToken, body });
/** One character that the comparison of names makes eighteen of. */
const GROWING = '\ufdfa';

attack('oversized input', 'got through', 'a name that grows when names are compared', async () => {
  const name = GROWING.repeat(200);
  for (const path of ['/api/projects', `/api/orgs/${org.orgId}/teams`]) {
    const made = await post(path, { name });
    expect(made.body).toMatchObject({ name });
    expect(await post(path, { name })).toMatchObject({ status: 409 });
    // Long ones that differ only at the end are two.
    const another = `${name.slice(1)}x`;
    expect((await post(path, { name: another })).body).toMatchObject({ name: another });
  }
});

attack('oversized input', 'got through', 'a repository’s address of two thousand characters', async () => {
  const url = `https://127.0.0.1/${'a'.repeat(1900)}/r.git`;
  const path = `/api/orgs/${org.orgId}/repositories/add`;
  expect((await post(path, { name: 'long', url })).body).toMatchObject({ clone_url: url });
  expect(await post(path, { name: 'long too', url })).toMatchObject({ status: 409 });
  const another = `${url}x`;
  expect((await post(path, { name: 'long three', url: another })).body).toMatchObject({ clone_url: another });
});

attack('oversized input', 'got through', 'an idempotency key of two thousand characters', async () => {
  const asset = await freshAsset(org);
  const key = 'k'.repeat(2000);
  const first = await sendReport(org, asset, sarifLog([{ path: 'a.ts' }]), {}, key);
  expect((await sendReport(org, asset, sarifLog([{ path: 'a.ts' }]), {}, key)).id).toBe(first.id);
});

attack(
  'oversized input',
  'got through',
  'a CVE of a thousand digits, in a report and in a filter',
  async () => {
    const asset = await freshAsset(org);
    const long = `CVE-2024-${'1'.repeat(1100)}`;
    const report = sarifLog([
      { path: 'a.ts', rule: long },
      { path: 'b.ts', rule: 'CVE-2024-12345' },
    ]);
    expect(await importReport(org, asset, report)).toMatchObject({ status: 'completed' });
    const listed = await listFindingsOf(org, asset);
    expect(new Map(listed.map(({ location, cve_id }) => [location.path, cve_id]))).toEqual(
      new Map([
        ['a.ts', null],
        ['b.ts', 'CVE-2024-12345'],
      ]),
    );
    const asked = org.client.call(findings.operations.listFindings, { query: { cve_id: long } });
    await expect(asked).rejects.toThrow('cve_id must be a CVE identifier');
  },
);
