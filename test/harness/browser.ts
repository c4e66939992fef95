import { existsSync } from 'node:fs';
import { type Browser, chromium } from 'playwright-core';

const PLACES = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];

/** A real, headless Chromium that talks to nobody by itself. */
export async function launchBrowser(): Promise<Browser> {
  const executablePath = process.env.ASPM_CHROMIUM ?? PLACES.find((path) => existsSync(path));
  if (!executablePath)
    throw new Error('This test needs a Chromium: run `npm run setup`, or name one in ASPM_CHROMIUM.');
  return chromium.launch({
    executablePath,
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
    ],
  });
}
