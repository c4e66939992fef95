import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { operations } from '#contract/index.ts';
import { projects } from '#contract/operations/projects.ts';
import { launchBrowser } from '#test/harness/browser.ts';
import { createTestOrganization, type TestOrganization } from '#test/harness/organization.ts';

let browser: Browser;
let page: Page;
let org: TestOrganization;
const problems: string[] = [];
const hosts = new Set<string>();

beforeAll(async () => {
  org = await createTestOrganization();
  await org.client.call(projects.operations.createProject, { body: { name: 'Seen in the browser' } });
  browser = await launchBrowser();
});
afterAll(() => browser?.close());

async function open(): Promise<void> {
  await page?.close();
  page = await browser.newPage({ viewport: { width: 1280, height: 1000 } });
  page.on('console', (message) => {
    if (message.type() === 'error') problems.push(message.text());
  });
  page.on('pageerror', (error) => problems.push(error.message));
  page.on('request', (request) => {
    if (!request.url().startsWith('data:')) hosts.add(new URL(request.url()).host);
  });
  await page.goto(`${inject('service').url}/docs`);
  await page.locator('.opblock').first().waitFor();
}

/** Opens an operation, executes it, and answers what the page shows of the response. */
async function tryOperation(operationId: string): Promise<{ status: string; body: string }> {
  const block = page.locator(`.opblock[id$="-${operationId}"]`);
  await block.locator('.opblock-summary-control').click();
  await block.getByRole('button', { name: 'Execute' }).click();
  const live = block.locator('.live-responses-table');
  await live.waitFor();
  return {
    status: (await live.locator('tr.response td.response-col_status').first().textContent())?.trim() ?? '',
    body: (await live.locator('tr.response .response-col_description pre').first().textContent()) ?? '',
  };
}

describe('the reference page', () => {
  it('lists every operation, and asks nobody else for anything', async () => {
    await open();
    expect(await page.locator('.opblock').count()).toBe(
      operations.filter((operation) => !operation.internal).length,
    );
    expect(await page.title()).toBe('ASPM API reference');
    expect([...hosts]).toEqual([new URL(inject('service').url).host]);
    expect(problems).toEqual([]);
  });

  it('signs in with e-mail and password, tries an operation, and shows the answer', async () => {
    await open();
    await page.getByLabel('E-mail', { exact: true }).fill(org.admin.email);
    await page.getByLabel('Password', { exact: true }).fill(org.admin.password);
    await page.getByRole('button', { name: 'Sign in', exact: true }).click();
    await page.getByText(`Signed in as ${org.admin.email} (Admin)`).waitFor();
    const answer = await tryOperation('listProjects');
    expect(answer.status).toContain('200');
    expect(answer.body).toContain('Seen in the browser');
    expect(problems).toEqual([]);
    if (process.env.ASPM_SCREENSHOT) await page.screenshot({ path: process.env.ASPM_SCREENSHOT });
  });

  it('takes an API key as well', async () => {
    const { key } = await org.withKey('projects:read');
    await open();
    await page.getByLabel('API key', { exact: true }).fill(key);
    await page.getByRole('button', { name: 'Use key' }).click();
    await page.getByText('Using the API key key projects:read').waitFor();
    expect((await tryOperation('listProjects')).body).toContain('Seen in the browser');
  });

  it('says what is wrong with a wrong password', async () => {
    await open();
    await page.getByLabel('E-mail', { exact: true }).fill(org.admin.email);
    await page.getByLabel('Password', { exact: true }).fill('wrong');
    await page.getByRole('button', { name: 'Sign in', exact: true }).click();
    await page.getByText('Wrong e-mail or password').waitFor();
  });
});
