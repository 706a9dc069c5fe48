import { Alert, Button, Code, Group, Modal, Paper, Stack, Tabs, Text } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { ApiError, api } from '../../api/client.ts';
import { Failure } from '../../parts/loading.tsx';
import { Markdown } from '../../parts/markdown/markdown.tsx';
import classes from './chat.module.css';
import type { Confirmation } from './turn.ts';

interface ConfirmationDialogProps {
  confirmation: Confirmation;
  secondsLeft: number;
  /** Called when the user puts the decision off. */
  onClose(): void;
  onAskAgain(): void;
}

/** Shows exactly what a tool would do, and lets the user approve or reject it while there is time. */
export function ConfirmationDialog({
  confirmation,
  secondsLeft,
  onClose,
  onAskAgain,
}: ConfirmationDialogProps) {
  const { id: confirm_id, name, args } = confirmation;
  const decision = useMutation({
    mutationFn: (approve: boolean) => api.POST('/chat/confirm', { body: { confirm_id, approve } }),
  });
  const isOver = decision.error instanceof ApiError && [404, 409].includes(decision.error.status);
  // Once decided, the turn goes on and shows the decision.
  if (decision.isSuccess) return null;
  return (
    <Modal
      opened
      onClose={onClose}
      size="lg"
      title={isMail(args) ? 'Send this mail?' : 'Approve this?'}
      closeButtonProps={{ 'aria-label': 'Decide later' }}
    >
      <Stack gap="sm">
        <Text size="sm" c="dimmed">
          The model wants to use <Code>{name}</Code>. Nothing happens unless you approve it.
        </Text>
        {isMail(args) ? <Mail args={args} /> : <Arguments args={args} />}
        {decision.error && !isOver && <Failure error={decision.error} />}
        {isOver && (
          <Alert color="orange" role="alert" title="This can no longer be decided">
            <Stack gap="xs" align="flex-start">
              It was decided elsewhere, its time ran out, or its question ended because a connection
              was lost. Nothing was sent because of your answer.
              <Button size="xs" variant="default" onClick={onAskAgain}>
                Ask again
              </Button>
            </Stack>
          </Alert>
        )}
        <Group justify="space-between">
          <Text size="sm" role="timer" aria-label="Time left">
            {formatLeft(secondsLeft)} left
          </Text>
          <Group gap="sm">
            <Button
              variant="default"
              data-autofocus
              disabled={isOver}
              loading={decision.isPending && decision.variables === false}
              onClick={() => decision.mutate(false)}
            >
              Reject
            </Button>
            <Button
              disabled={isOver}
              loading={decision.isPending && decision.variables === true}
              onClick={() => decision.mutate(true)}
            >
              Approve
            </Button>
          </Group>
        </Group>
      </Stack>
    </Modal>
  );
}

interface MailArguments {
  subject: string;
  recipients?: string[] | null;
  content_markdown: string;
}

/** Whether these are the arguments of a mail and nothing else: nobody may approve what the dialog does not show. */
function isMail(args: object): args is MailArguments {
  const { subject, recipients, content_markdown, ...others } = args as Record<string, unknown>;
  return (
    typeof subject === 'string' &&
    typeof content_markdown === 'string' &&
    (recipients === undefined || recipients === null || Array.isArray(recipients)) &&
    Object.keys(others).length === 0
  );
}

function Mail({ args: { subject, recipients, content_markdown } }: { args: MailArguments }) {
  return (
    <>
      <Field label="To">{recipients ? recipients.join(', ') : 'everyone in SMTP_TO'}</Field>
      <Field label="Subject">{subject}</Field>
      <Tabs defaultValue="rendered" keepMounted={false}>
        <Tabs.List aria-label="View of the mail">
          <Tabs.Tab value="rendered">Rendered</Tabs.Tab>
          <Tabs.Tab value="written">Source</Tabs.Tab>
        </Tabs.List>
        <Tabs.Panel value="rendered" pt="sm">
          <Paper
            withBorder
            p="sm"
            className={classes.mail}
            tabIndex={0}
            role="region"
            aria-label="Mail"
          >
            <Markdown text={content_markdown} />
          </Paper>
        </Tabs.Panel>
        <Tabs.Panel value="written" pt="sm">
          <Code block tabIndex={0} role="region" aria-label="Mail" className={classes.block}>
            {content_markdown}
          </Code>
        </Tabs.Panel>
      </Tabs>
    </>
  );
}

function Field({ label, children }: { label: string; children: string }) {
  return (
    <div>
      <Text size="xs" c="dimmed">
        {label}
      </Text>
      <Text style={{ overflowWrap: 'anywhere' }}>
        <bdi>{children}</bdi>
      </Text>
    </div>
  );
}

function Arguments({ args }: { args: object }) {
  return (
    <Code block tabIndex={0} role="region" aria-label="Arguments" className={classes.block}>
      {JSON.stringify(args, null, 2)}
    </Code>
  );
}

/** `1:05`. */
function formatLeft(seconds: number): string {
  const left = Math.max(0, seconds);
  return `${Math.floor(left / 60)}:${String(left % 60).padStart(2, '0')}`;
}
