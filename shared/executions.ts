import {
  DescribeExecutionCommand,
  ExecutionAlreadyExists,
  ExecutionDoesNotExist,
  SFNClient,
  StartExecutionCommand,
  StopExecutionCommand,
} from '@aws-sdk/client-sfn';
import type { RunExecution } from '#events/pipeline.ts';

export type Executions = ReturnType<typeof createExecutions>;

/** Executions of the run state machine: one for each run, named by its id, so that none starts twice. */
export function createExecutions(
  stateMachineArn: string,
  client: SFNClient = new SFNClient({ maxAttempts: 4 }),
) {
  const arnOf = (runId: string) => `${stateMachineArn.replace(':stateMachine:', ':execution:')}:${runId}`;

  return {
    async start(input: RunExecution): Promise<void> {
      try {
        await client.send(
          new StartExecutionCommand({ stateMachineArn, name: input.run_id, input: JSON.stringify(input) }),
        );
      } catch (error) {
        if (!(error instanceof ExecutionAlreadyExists)) throw error;
      }
    },

    /** Whether the execution of a run is under way; false where it ended, or never was. */
    async isRunning(runId: string): Promise<boolean> {
      try {
        const { status } = await client.send(new DescribeExecutionCommand({ executionArn: arnOf(runId) }));
        return status === 'RUNNING';
      } catch (error) {
        if (error instanceof ExecutionDoesNotExist) return false;
        throw error;
      }
    },

    async stop(runId: string, cause: string): Promise<void> {
      try {
        await client.send(new StopExecutionCommand({ executionArn: arnOf(runId), cause }));
      } catch (error) {
        if (!(error instanceof ExecutionDoesNotExist)) throw error;
      }
    },
  };
}
