import { Alert, Button, Group, Stack, Text, Textarea, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import type { Schemas } from '../../api/client.ts';
import { publishStatusPage, revokeStatusPage, statusPages } from '../../api/telling.ts';
import { Age } from '../../parts/age.tsx';
import { Card, CardAction } from '../../parts/card.tsx';
import { Command } from '../../parts/command.tsx';
import { Loaded } from '../../parts/loading.tsx';
import { ActionDialog, type ErrorAt } from './action-dialog.tsx';
import { Section } from './section.tsx';

const MAX_TITLE_LENGTH = 100;

type OpenDialog = 'add' | Schemas['StatusPage'] | null;

/** Public pages with the state of some repositories, which administrators publish and revoke. */
export function StatusPages({ mayChange }: { mayChange: boolean }) {
  const [dialog, setDialog] = useState<OpenDialog>(null);
  const [path, setPath] = useState<string | null>(null);
  const close = () => setDialog(null);
  return (
    <Section
      title="Status pages"
      about="A public page with the state, the last backup, the last proof and 90 days of what you pick, and nothing else. Anyone who knows its address can read it without logging in."
    >
      {path !== null && (
        <Alert color="teal" title="Copy the address now: it may be shown only once">
          <Command>{`${window.location.origin}${path}`}</Command>
        </Alert>
      )}
      <Loaded query={useQuery(statusPages)} lines={1}>
        {(pages) =>
          pages.length === 0 ? (
            <Text c="dimmed">Nothing is published.</Text>
          ) : (
            <Stack gap="xs">
              {pages.map((page) => (
                <Row
                  key={page.id}
                  page={page}
                  mayChange={mayChange}
                  revoke={() => setDialog(page)}
                />
              ))}
            </Stack>
          )
        }
      </Loaded>
      {mayChange && (
        <Group>
          <Button variant="default" onClick={() => setDialog('add')}>
            Publish a status page
          </Button>
        </Group>
      )}
      {dialog === 'add' && <Publish close={close} published={setPath} />}
      {dialog !== null && dialog !== 'add' && (
        <Revoke page={dialog} close={close} revoked={() => setPath(null)} />
      )}
    </Section>
  );
}

interface RowProps {
  page: Schemas['StatusPage'];
  mayChange: boolean;
  revoke(): void;
}

function Row({ page, mayChange, revoke }: RowProps) {
  const { title, address, shows, created_at, created_by } = page;
  return (
    <Card
      title={title}
      about={
        <>
          {address === null ? 'At an unguessable address' : `At …/status/${address}`}, shows{' '}
          <bdi>{shows.map(({ label }) => label).join(', ')}</bdi>. Published <Age of={created_at} />{' '}
          by <bdi>{created_by}</bdi>.
        </>
      }
      actions={
        mayChange && (
          <CardAction
            label="Revoke"
            name={`Revoke the status page: ${title}`}
            act={revoke}
            isDestructive
          />
        )
      }
    />
  );
}

function Publish({ close, published }: { close(): void; published(path: string): void }) {
  const [title, setTitle] = useState('');
  const [picked, setPicked] = useState('');
  const [address, setAddress] = useState('');
  return (
    <ActionDialog
      title="Publish a status page"
      action="Publish"
      act={async () => {
        const chosen = address.trim();
        const page = { title, shows: readRows(picked), address: chosen === '' ? null : chosen };
        published(await publishStatusPage(page));
      }}
      done="The status page was published"
      changes={statusPages.queryKey}
      close={close}
    >
      {(errorAt) => (
        <>
          <TextInput
            label="Title"
            value={title}
            onChange={({ currentTarget: { value } }) => setTitle(value)}
            error={errorAt('title')}
            maxLength={MAX_TITLE_LENGTH}
            autoComplete="off"
            required
            data-autofocus
          />
          <Textarea
            label="What it shows"
            description="One row a line: a repository, or a group as in “Website: acme/site, acme/web-*”. Only the name before the colon is shown."
            placeholder={'acme/app\nWebsite: acme/site, acme/web-*'}
            value={picked}
            onChange={({ currentTarget: { value } }) => setPicked(value)}
            error={errorOfRows(errorAt, readRows(picked).length)}
            autosize
            minRows={3}
            required
          />
          <TextInput
            label="Address"
            description="Leave it empty for one that nobody can guess, or choose 3 to 63 lower-case letters, digits or -"
            value={address}
            onChange={({ currentTarget: { value } }) => setAddress(value)}
            error={errorAt('address')}
            autoComplete="off"
          />
        </>
      )}
    </ActionDialog>
  );
}

/** Reads a row from each line: a name, or a label and names after a colon. */
function readRows(text: string): Schemas['NewStatusPage']['shows'] {
  return text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
    .map((line) => {
      const colon = line.indexOf(':');
      const names = line.slice(colon + 1).split(',');
      return {
        label: (colon < 0 ? line : line.slice(0, colon)).trim(),
        repositories: names.map((name) => name.trim()).filter((name) => name !== ''),
      };
    });
}

/** The first error of any row. */
function errorOfRows(errorAt: ErrorAt, count: number): string | null {
  const whole = errorAt('shows');
  if (whole !== null) return whole;
  for (let row = 0; row < count; row++) {
    const fields = [`shows.${row}.label`, `shows.${row}.repositories`];
    const names = Array.from({ length: 20 }, (_, index) => `shows.${row}.repositories.${index}`);
    const found = [...fields, ...names].map(errorAt).find((message) => message !== null);
    if (found !== undefined) return `Row ${row + 1}: ${found}`;
  }
  return null;
}

interface RevokeProps {
  page: Schemas['StatusPage'];
  close(): void;
  revoked(): void;
}

/** Asks before a status page is revoked. */
function Revoke({ page, close, revoked }: RevokeProps) {
  return (
    <ActionDialog
      title={`Revoke “${page.title}”?`}
      action="Revoke"
      isDestructive
      act={async () => {
        await revokeStatusPage(page.id);
        revoked();
      }}
      done="The status page was revoked"
      changes={statusPages.queryKey}
      close={close}
    >
      <Text>Its address stops working at once. This cannot be undone.</Text>
    </ActionDialog>
  );
}
