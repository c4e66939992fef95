import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { EmbeddedCloud } from '#infra/local/embedded-cloud.ts';
import { launchBrowser } from '#test/harness/browser.ts';
import { startHttpServer, type TestServer } from '#test/harness/http-server.ts';
import { startTestCloud } from '#test/harness/test-cloud.ts';

let browser: Browser;
let pages: TestServer;
let cloud: EmbeddedCloud;
const listed = () => `http://localhost:${pages.port}`;
/** The same server under another name: another origin. */
const unlisted = () => `http://127.0.0.1:${pages.port}`;

beforeAll(async () => {
  pages = await startHttpServer((_, response) => {
    response.writeHead(200, { 'content-type': 'text/html' }).end('<title>A page of ours</title>');
  });
  cloud = await startTestCloud({ port: 0, inMemory: true, env: { ASPM_CORS_ORIGINS: listed() } });
  browser = await launchBrowser();
});
afterAll(async () => {
  await browser?.close();
  await cloud?.stop();
  await pages?.[Symbol.asyncDispose]();
});

interface Init {
  readonly method?: string;
  readonly headers?: Record<string, string>;
  readonly body?: string;
}

/** What a script in a page of the origin gets of a request; null where the browser keeps it from it. */
async function ask(origin: string, path: string, init: Init = {}) {
  const page = await browser.newPage();
  try {
    await page.goto(origin);
    return await page.evaluate(
      async ([url, options]) => {
        const answer = await fetch(url, options).catch(() => null);
        if (answer === null) return null;
        return { status: answer.status, id: answer.headers.get('x-request-id'), body: await answer.json() };
      },
      [`${cloud.url}${path}`, init] as const,
    );
  } finally {
    await page.close();
  }
}

describe('a page of another origin', () => {
  it('reads what the service answers, where it is listed', async () => {
    const answer = await ask(listed(), '/api/health');
    expect(answer).toMatchObject({ status: 200, body: { status: 'ok' } });
    expect(answer?.id).toMatch(/^req_[0-9a-f]{32}$/);
  });

  it('sends what needs a preflight, and reads the refusal', async () => {
    const init = {
      method: 'POST',
      headers: {
        authorization: 'Bearer nobody',
        'content-type': 'application/json',
        'idempotency-key': 'once',
      },
      body: JSON.stringify({ name: 'From another origin' }),
    };
    expect(await ask(listed(), '/api/projects', init)).toMatchObject({ status: 401 });
    expect(await ask(unlisted(), '/api/projects', init)).toBeNull();
  });

  it('reads nothing, where it is not', async () => {
    expect(await ask(unlisted(), '/api/health')).toBeNull();
  });
});
