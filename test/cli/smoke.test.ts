import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { describe, expect, inject, it } from 'vitest';
import { assets } from '#contract/operations/assets.ts';
import { SMOKE_STEPS } from '#infra/cli/smoke-steps.ts';
import { PROJECT_ROOT } from '#infra/project.ts';
import { createTestOrganization, type TestOrganization } from '#test/harness/organization.ts';
import { cloneUrl } from '#test/harness/scanning.ts';
import { createVulnerableRepository } from '#test/harness/vulnerable-repository.ts';

interface Outcome {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

function smoke(org: TestOrganization, url: string, ...more: string[]): Promise<Outcome> {
  const env = { ...process.env, ASPM_ADMIN_EMAIL: org.admin.email, ASPM_ADMIN_PASSWORD: org.admin.password };
  return promisify(execFile)(process.execPath, ['infra/cli/smoke.ts', url, ...more], {
    cwd: PROJECT_ROOT,
    env,
  }).then(
    (output) => ({ code: 0, ...output }),
    (error: Outcome) => error,
  );
}

describe('the smoke test', () => {
  it('passes on a service that works, scan included, and leaves nothing behind', async () => {
    const org = await createTestOrganization();
    const repository = await createVulnerableRepository();
    try {
      const { url } = inject('service');
      const { code, stdout } = await smoke(org, url, '--repository', cloneUrl(`file://${repository.path}`));
      expect(stdout).not.toContain('FAILED');
      expect(stdout.match(/^ok /gm)).toHaveLength(SMOKE_STEPS.length);
      expect(code).toBe(0);
      const { data } = await org.client.call(assets.operations.listAssets);
      expect(data).toEqual([]);
    } finally {
      await repository.remove();
    }
  });

  it('says which step failed, and ends with 1', async () => {
    const org = await createTestOrganization();
    // Nothing can be cloned there.
    const { code, stdout } = await smoke(
      org,
      inject('service').url,
      '--repository',
      cloneUrl('file:///absent/repository'),
    );
    expect(stdout).toMatch(/^FAILED .* a repository is scanned/m);
    expect(stdout.match(/^FAILED .*/gm)).toHaveLength(1);
    expect(code).toBe(1);
  });

  it('ends with 2 where no address is named', async () => {
    const org = await createTestOrganization();
    expect(await smoke(org, 'nowhere')).toMatchObject({ code: 2, stderr: expect.stringContaining('Usage') });
  });
});
