import { cp, mkdir, rm, writeFile } from 'node:fs/promises';
import { build, type Metafile } from 'esbuild';
import { BUNDLES, PROJECT_ROOT, REFERENCE_ASSETS } from '#infra/project.ts';
import { FUNCTION_NAMES } from './catalogue.ts';

/** Swagger UI's files that the reference page loads. */
const SWAGGER_FILES = ['swagger-ui-bundle.js', 'swagger-ui.css', 'favicon-32x32.png'];

/**
 * Bundles every function in one esbuild call, the AWS SDK included, so that nothing depends on
 * the version that the runtime happens to have. Source maps stay beside the bundles, out of the
 * deployed code. `meta.json` tells what makes up each bundle's size.
 */
export async function bundleFunctions(): Promise<Metafile> {
  await rm(BUNDLES, { recursive: true, force: true });
  const { metafile } = await build({
    absWorkingDir: PROJECT_ROOT,
    entryPoints: Object.fromEntries(FUNCTION_NAMES.map((name) => [name, `functions/${name}/handler.ts`])),
    outdir: BUNDLES,
    entryNames: '[name]/index',
    outExtension: { '.js': '.mjs' },
    bundle: true,
    minify: true,
    treeShaking: true,
    sourcemap: 'external',
    format: 'esm',
    platform: 'node',
    target: 'node24',
    mainFields: ['module', 'main'],
    metafile: true,
    // In Lambda credentials come from the environment: the chain of profiles, SSO and web identities that
    // the SDK would try as well is a fifth of a bundle.
    alias: { '@aws-sdk/credential-provider-node': `${PROJECT_ROOT}/infra/functions/lambda-credentials.ts` },
    legalComments: 'none',
    logLevel: 'warning',
    // CommonJS packages in the bundle call `require` for Node's own modules.
    banner: {
      js: "import{createRequire as __createRequire}from'node:module';const require=__createRequire(import.meta.url);",
    },
  });
  await Promise.all([copyReferenceFiles(), writeFile(`${BUNDLES}/meta.json`, JSON.stringify(metafile))]);
  return metafile;
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
