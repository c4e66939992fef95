import { cp, mkdir, rm, writeFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { type BuildOptions, build, type Metafile } from 'esbuild';
import { BUNDLES, POLICY_FOLDER, PROJECT_ROOT, REFERENCE_ASSETS } from '#infra/project.ts';
import { POLICY_ASSETS } from '#shared/policy/files.ts';
import { FUNCTION_NAMES, FUNCTIONS, type FunctionDeclaration } from './catalogue.ts';

/** Swagger UI's files that the reference page loads. */
const SWAGGER_FILES = ['swagger-ui-bundle.js', 'swagger-ui.css', 'favicon-32x32.png'];

/**
 * Bundles every function in one esbuild call, the AWS SDK included, so that nothing depends on
 * the version that the runtime happens to have. Source maps come along: what fails tells its place in the sources
 * (shared/source-places.ts). `meta.json` tells what makes up each bundle's size.
 */
export async function bundleFunctions(): Promise<Metafile> {
  await rm(BUNDLES, { recursive: true, force: true });
  const { metafile } = await build({
    ...OPTIONS,
    entryPoints: {
      ...Object.fromEntries(FUNCTION_NAMES.map((name) => [`${name}/index`, `functions/${name}/handler.ts`])),
      ...policyWorkers(),
      ...reportReaders(),
    },
    metafile: true,
  });
  await Promise.all([
    copyReferenceFiles(),
    copyPolicyFiles(),
    writeFile(`${BUNDLES}/meta.json`, JSON.stringify(metafile)),
  ]);
  return metafile;
}

const OPTIONS = {
  absWorkingDir: PROJECT_ROOT,
  outdir: BUNDLES,
  entryNames: '[dir]/[name]',
  outExtension: { '.js': '.mjs' },
  bundle: true,
  minify: true,
  treeShaking: true,
  sourcemap: 'external',
  // Places are enough for a stack; the sources themselves are four times as large.
  sourcesContent: false,
  format: 'esm',
  platform: 'node',
  target: 'node24',
  mainFields: ['module', 'main'],
  // In Lambda credentials come from the environment: the chain of profiles, SSO and web identities that
  // the SDK would try as well is a fifth of a bundle.
  alias: { '@aws-sdk/credential-provider-node': `${PROJECT_ROOT}/infra/functions/lambda-credentials.ts` },
  legalComments: 'none',
  logLevel: 'warning',
  // CommonJS packages in the bundle call `require` for Node's own modules.
  banner: {
    js: "import{createRequire as __createRequire}from'node:module';const require=__createRequire(import.meta.url);",
  },
} as const satisfies BuildOptions;

/** Functions that evaluate policies, with the folder and the parts of the engine that each brings. */
function policyParts() {
  return FUNCTION_NAMES.flatMap((name) => {
    const { policyAssets = [] }: FunctionDeclaration = FUNCTIONS[name];
    return policyAssets.map((part) => ({ folder: `${name}/${POLICY_FOLDER}`, ...POLICY_ASSETS[part] }));
  });
}

/** Threads of the engine, bundled like functions. */
function policyWorkers(): Record<string, string> {
  return Object.fromEntries(
    policyParts().flatMap(({ folder, entries }) =>
      entries.map((entry) => [`${folder}/${basename(entry, '.ts')}`, entry]),
    ),
  );
}

/** The thread that reads reports lies beside the function that calls it (`createReportReader`). */
function reportReaders(): Record<string, string> {
  const readers = FUNCTION_NAMES.filter((name) => {
    const { readsReports }: FunctionDeclaration = FUNCTIONS[name];
    return readsReports;
  });
  return Object.fromEntries(
    readers.map((name) => [`${name}/reader-worker`, 'shared/ingest/reader/reader-worker.ts']),
  );
}

async function copyPolicyFiles(): Promise<void> {
  for (const { folder, copies } of policyParts()) {
    await mkdir(`${BUNDLES}/${folder}`, { recursive: true });
    for (const file of copies) await cp(`${PROJECT_ROOT}/${file}`, `${BUNDLES}/${folder}/${basename(file)}`);
  }
}

async function copyReferenceFiles(): Promise<void> {
  const folder = `${BUNDLES}/reference`;
  await mkdir(`${folder}/${REFERENCE_ASSETS}`, { recursive: true });
  await Promise.all([
    cp(`${PROJECT_ROOT}/functions/reference/page`, `${folder}/page`, { recursive: true }),
    ...SWAGGER_FILES.map((file) =>
      cp(`${PROJECT_ROOT}/node_modules/swagger-ui-dist/${file}`, `${folder}/${REFERENCE_ASSETS}/${file}`),
    ),
  ]);
}
