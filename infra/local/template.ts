import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import * as z from 'zod';
import { BUILD_FOLDER, PROJECT_ROOT, STACK_NAME } from '#infra/project.ts';

/** As much of a CloudFormation template as the embedded cloud reads. */
const Template = z.object({
  Resources: z.record(
    z.string(),
    z.object({
      Type: z.string(),
      Properties: z.record(z.string(), z.unknown()).default({}),
      Metadata: z.record(z.string(), z.unknown()).default({}),
    }),
  ),
});
export type Template = z.output<typeof Template>;

const CACHE = `${BUILD_FOLDER}/local-template.json`;
const Cached = z.object({ inputs: z.string(), template: Template });

/** What the template follows from: the CDK app, the contract's routes, the settings' names, the function folders. */
const INPUT_FOLDERS = ['infra', 'shared/contract'];
const INPUT_FILES = ['shared/config.ts', 'shared/domain/vocabulary.ts', 'package.json', 'package-lock.json'];
/** Changes that can't reach the template must not cost a synthesis. */
const NO_INPUT = /^infra\/(?:local|cli)\//;

/** The synthesized template; kept from the last start where nothing that it is made of has changed. */
export async function loadTemplate(): Promise<{ template: Template; cached: boolean }> {
  const inputs = await hashInputs();
  const held = await readCache();
  if (held?.inputs === inputs) return { template: held.template, cached: true };
  const template = await synthesize();
  await mkdir(BUILD_FOLDER, { recursive: true });
  // Renamed into place: another start may be reading it right now.
  const draft = `${CACHE}.${process.pid}`;
  await writeFile(draft, JSON.stringify({ inputs, template }));
  await rename(draft, CACHE);
  return { template, cached: false };
}

async function readCache(): Promise<z.output<typeof Cached> | null> {
  try {
    return Cached.parse(JSON.parse(await readFile(CACHE, 'utf8')));
  } catch {
    return null;
  }
}

async function hashInputs(): Promise<string> {
  const folders = await Promise.all(INPUT_FOLDERS.map(listFiles));
  const functions = await readdir(`${PROJECT_ROOT}/functions`);
  const files = [...folders.flat(), ...INPUT_FILES].filter((file) => !NO_INPUT.test(file)).sort();
  const contents = await Promise.all(files.map((file) => readFile(`${PROJECT_ROOT}/${file}`)));
  const hash = createHash('sha256').update(functions.sort().join());
  for (const [index, content] of contents.entries()) hash.update(`\0${files[index]}\0`).update(content);
  return hash.digest('hex');
}

async function listFiles(folder: string): Promise<string[]> {
  const entries = await readdir(`${PROJECT_ROOT}/${folder}`, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => `${entry.parentPath.slice(PROJECT_ROOT.length + 1)}/${entry.name}`.replaceAll('\\', '/'));
}

/**
 * Runs the CDK app as `cdk synth` would, without the command line around it, and in a process of its
 * own: the library would stay in our memory.
 */
async function synthesize(): Promise<Template> {
  const folder = `${tmpdir()}/aspm-synth-${process.pid}-${Date.now()}`;
  const child = spawn(process.execPath, ['infra/app.ts'], {
    cwd: PROJECT_ROOT,
    env: {
      ...process.env,
      CDK_OUTDIR: folder,
      CDK_CONTEXT_JSON: JSON.stringify({ bundle: false }),
      NODE_COMPILE_CACHE: `${BUILD_FOLDER}/compile-cache`,
      // Two thirds of the time: `npm run synth` and the tests check the same template.
      CDK_VALIDATION: 'false',
    },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let complaints = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    complaints += text;
  });
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
  if (code !== 0) throw new Error(`The CDK app did not synthesize:\n${complaints}`);
  try {
    return Template.parse(JSON.parse(await readFile(`${folder}/${STACK_NAME}.template.json`, 'utf8')));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
