import type { StateMachine as LocalStateMachine } from 'aws-local-stepfunctions';
import * as z from 'zod';
import { type JsonOperations, ServiceFault } from './aws-json.ts';
import type { ServiceLog } from './log.ts';
import type { CloudModel } from './model.ts';

/** Runs one task state; the signal says that nobody waits for it any more. */
export type RunTask = (task: TaskState, input: unknown, signal: AbortSignal) => Promise<unknown>;

export interface TaskState {
  readonly resource: string;
  readonly timeoutSeconds: number | undefined;
}

type Status = 'RUNNING' | 'SUCCEEDED' | 'FAILED' | 'ABORTED' | 'TIMED_OUT';

interface Execution {
  readonly arn: string;
  readonly stateMachineArn: string;
  readonly name: string;
  readonly input: string;
  readonly startDate: number;
  readonly abort: AbortController;
  status: Status;
  stopDate: number | null;
  error: { error: string; cause: string } | null;
  ended: Promise<void>;
  /** Tasks at work: one that nobody waits for any more may still be ending. */
  readonly tasks: Set<Promise<unknown>>;
}

/** Ended executions are remembered for their names: one may not start twice. */
const REMEMBERED = 5000;

const StartInput = z.object({
  stateMachineArn: z.string(),
  name: z.string().min(1).max(80),
  input: z.string().default('{}'),
});
const ByArn = z.object({ executionArn: z.string() });

const TaskStates = z.record(
  z.string(),
  z.looseObject({
    Type: z.string(),
    Resource: z.string().optional(),
    TimeoutSeconds: z.number().optional(),
    ItemProcessor: z.looseObject({ States: z.unknown() }).optional(),
  }),
);

/** Step Functions: StartExecution, StopExecution and DescribeExecution over the template's state machines. */
export function createExecutions(
  stateMachines: CloudModel['stateMachines'],
  runTask: RunTask,
  log: ServiceLog,
) {
  const executions = new Map<string, Execution>();
  const machines = new Map(stateMachines.map(({ arn, definition }) => [arn, definition]));

  function start(input: unknown): object {
    const { stateMachineArn, name, input: text } = StartInput.parse(input);
    const definition = machines.get(stateMachineArn);
    if (definition === undefined)
      throw new ServiceFault('StateMachineDoesNotExist', `There is no state machine ${stateMachineArn}`);
    const arn = `${stateMachineArn.replace(':stateMachine:', ':execution:')}:${name}`;
    const held = executions.get(arn);
    // As the service does: the very same call again is answered as the first one was.
    if (held && (held.status !== 'RUNNING' || held.input !== text))
      throw new ServiceFault('ExecutionAlreadyExists', `The execution ${name} exists`);
    const execution = held ?? begin(arn, stateMachineArn, name, text, definition);
    return { executionArn: arn, startDate: execution.startDate / 1000 };
  }

  function begin(
    arn: string,
    stateMachineArn: string,
    name: string,
    input: string,
    definition: unknown,
  ): Execution {
    const execution: Execution = {
      arn,
      stateMachineArn,
      name,
      input,
      startDate: Date.now(),
      abort: new AbortController(),
      status: 'RUNNING',
      stopDate: null,
      error: null,
      ended: Promise.resolve(),
      tasks: new Set(),
    };
    executions.set(arn, execution);
    execution.ended = run(execution, definition).catch((error: unknown) => {
      execution.status = 'FAILED';
      execution.error = { error: 'States.Runtime', cause: String(error) };
    });
    forgetOldest();
    return execution;
  }

  async function run(execution: Execution, definition: unknown): Promise<void> {
    const { StateMachine } = await loadInterpreter();
    // Checked by a test instead: the checker costs more than the execution.
    const machine: LocalStateMachine = new StateMachine(definition as never, {
      validationOptions: { noValidate: true },
    });
    const { signal } = execution.abort;
    const handlers = Object.fromEntries(
      listTasks(definition).map(([name, task]) => [
        name,
        (input: unknown) => tracked(execution.tasks, runTask(task, input, signal).then(toJson)),
      ]),
    );
    const { abort, result } = machine.run(JSON.parse(execution.input), {
      overrides: { taskResourceLocalHandlers: handlers as never },
      noThrowOnAbort: true,
    });
    signal.addEventListener('abort', abort, { once: true });
    try {
      await result;
      execution.status = signal.aborted ? 'ABORTED' : 'SUCCEEDED';
    } catch (error) {
      execution.status =
        error instanceof Error && error.name === 'ExecutionTimeoutError' ? 'TIMED_OUT' : 'FAILED';
      execution.error = describe(error);
      log.write('ERROR', 'state-machine', null, [
        { message: 'execution failed', execution: execution.name, ...execution.error },
      ]);
    } finally {
      execution.stopDate = Date.now();
      // A task that nobody waits for any more (a time-out) must not go on.
      execution.abort.abort();
    }
  }

  function find(input: unknown): Execution {
    const { executionArn } = ByArn.parse(input);
    const found = executions.get(executionArn);
    if (!found) throw new ServiceFault('ExecutionDoesNotExist', `There is no execution ${executionArn}`);
    return found;
  }

  async function stop(input: unknown): Promise<object> {
    const execution = find(input);
    execution.abort.abort();
    await execution.ended;
    return { stopDate: (execution.stopDate ?? Date.now()) / 1000 };
  }

  function forgetOldest(): void {
    if (executions.size <= REMEMBERED) return;
    for (const [arn, execution] of executions) {
      if (executions.size <= REMEMBERED) return;
      if (execution.status !== 'RUNNING') executions.delete(arn);
    }
  }

  const operations: JsonOperations = {
    'AWSStepFunctions.StartExecution': start,
    'AWSStepFunctions.StopExecution': stop,
    'AWSStepFunctions.DescribeExecution': (input) => {
      const { arn, stateMachineArn, name, status, startDate, stopDate, error, ...rest } = find(input);
      return {
        executionArn: arn,
        stateMachineArn,
        name,
        status,
        startDate: startDate / 1000,
        ...(stopDate !== null && { stopDate: stopDate / 1000 }),
        ...error,
        input: rest.input,
      };
    },
  };

  return {
    operations,
    /** Loads the interpreter before the first execution needs it. */
    warmUp: async () => void (await loadInterpreter()),
    /** Ends what runs, and waits for tasks that are ending: their children have work folders to remove. */
    async stopAll() {
      for (const execution of executions.values()) execution.abort.abort();
      for (const { ended, tasks } of executions.values()) {
        await ended;
        await Promise.allSettled(tasks);
      }
    },
  };
}

export type Executions = ReturnType<typeof createExecutions>;

function tracked<T>(tasks: Set<Promise<unknown>>, task: Promise<T>): Promise<T> {
  tasks.add(task);
  const forget = () => void tasks.delete(task);
  task.then(forget, forget);
  return task;
}

const loadInterpreter = () => import('aws-local-stepfunctions');

/** Task states by name, those inside a Map as well. The interpreter knows overrides by name alone. */
function listTasks(definition: unknown): [string, TaskState][] {
  const { States } = z.looseObject({ States: TaskStates }).parse(definition);
  return Object.entries(States).flatMap(([name, state]): [string, TaskState][] => {
    if (state.ItemProcessor) return listTasks(state.ItemProcessor);
    if (state.Type !== 'Task' || state.Resource === undefined) return [];
    return [[name, { resource: state.Resource, timeoutSeconds: state.TimeoutSeconds }]];
  });
}

/** What travels between states is JSON. */
function toJson(value: unknown): unknown {
  return value === undefined ? null : JSON.parse(JSON.stringify(value));
}

function describe(error: unknown): { error: string; cause: string } {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  return cause instanceof Error
    ? { error: cause.name, cause: cause.message }
    : { error: 'Error', cause: String(cause) };
}
