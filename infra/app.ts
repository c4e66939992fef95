import { App, Validations } from 'aws-cdk-lib';
import { readDeployment } from './deployment.ts';
import { CDK_FEATURES, STACK_NAME } from './project.ts';
import { AspmStack } from './stack.ts';

/** `cdk synth` and `cdk deploy` begin here; so does the embedded cloud, with `bundle=false`. */
const app = new App({ context: { ...CDK_FEATURES } });
const deployment = readDeployment(app.node);

if (deployment.bundle) {
  const [{ bundleFunctions }, { prepareRunnerImage }, { AwsSolutionsChecks }] = await Promise.all([
    import('./functions/bundle.ts'),
    import('./pipeline/runner-image.ts'),
    import('cdk-nag'),
  ]);
  await Promise.all([bundleFunctions(), prepareRunnerImage()]);
  Validations.of(app).addPlugins(new AwsSolutionsChecks(app));
}
new AspmStack(app, STACK_NAME, { deployment, description: 'Application security posture management' });
app.synth();
