import { Button, Checkbox, Group, Radio, Stack, Text, TextInput, Title } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { ApiError, api, body } from '../../../api/client.ts';
import { me, type RepositoryPath } from '../../../api/queries.ts';
import { Failure } from '../../../parts/loading.tsx';

interface RestoreFormProps {
  path: RepositoryPath;
  version: number;
}

/** Restores a version to a new folder of the server's machine, or to an empty repository on a git host. */
export function RestoreForm({ path, version }: RestoreFormProps) {
  const { data: user } = useQuery(me);
  return (
    <Stack gap="xs">
      <Title order={2} size="h4">
        Restore version {version}
      </Title>
      {user?.is_admin === false ? (
        <Text c="dimmed">
          Only an administrator can restore to the server’s machine or to a git host. You can
          download files and folders above, and the archive on the tab Versions.
        </Text>
      ) : (
        <Form path={path} version={version} />
      )}
    </Stack>
  );
}

function Form({ path, version }: RestoreFormProps) {
  const client = useQueryClient();
  const [kind, setKind] = useState('folder');
  const [folder, setFolder] = useState('');
  const [ref, setRef] = useState('');
  const [address, setAddress] = useState('');
  const [isBare, setIsBare] = useState(false);
  const restore = useMutation({
    mutationFn: () => {
      const repository = `${path.owner}/${path.name}`;
      const toFolder = {
        bare: isBare,
        ...(folder.trim() === '' ? {} : { folder: folder.trim() }),
        ...(ref.trim() === '' ? {} : { ref: ref.trim() }),
      };
      const where = kind === 'push' ? { push: address.trim(), bare: false } : toFolder;
      return body(api.POST('/api/restores', { body: { repository, version, ...where } }));
    },
    onSettled: () => client.invalidateQueries({ queryKey: ['restores'] }),
  });
  const { error } = restore;
  // The message of a field stands at the field.
  const atFolder = kind === 'folder' && isAbout(error, /^folder |already exists/);
  const atAddress = kind === 'push' && isAbout(error, /^push /);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    restore.mutate();
  };
  return (
    <form onSubmit={submit}>
      <Stack gap="sm" maw={600}>
        <Radio.Group label="Where to" value={kind} onChange={setKind}>
          <Stack gap={6} mt={6}>
            <Radio value="folder" label="A new folder on the server’s machine" />
            <Radio value="push" label="An empty repository on a git host" />
          </Stack>
        </Radio.Group>
        {kind === 'folder' ? (
          <>
            <TextInput
              label="Name of the folder"
              description="Below RESTORE_DIR. By default it is named after the repository and the version."
              value={folder}
              onChange={({ currentTarget }) => setFolder(currentTarget.value)}
              maxLength={100}
              error={atFolder && error?.message}
            />
            <TextInput
              label="Only this branch or tag"
              description="By default all of them."
              value={ref}
              onChange={({ currentTarget }) => setRef(currentTarget.value)}
              maxLength={1_000}
            />
            <Checkbox
              label="Without a work tree, as a bare repository"
              checked={isBare}
              onChange={({ currentTarget }) => setIsBare(currentTarget.checked)}
            />
          </>
        ) : (
          <TextInput
            label="Address of the repository"
            description="With https or ssh, and without credentials: git uses those of the worker’s machine."
            placeholder="https://github.com/acme/restored.git"
            required
            value={address}
            onChange={({ currentTarget }) => setAddress(currentTarget.value)}
            maxLength={2_000}
            error={atAddress && error?.message}
          />
        )}
        <Group>
          <Button type="submit" loading={restore.isPending}>
            Restore
          </Button>
          {restore.isSuccess && (
            <Text size="sm" role="status">
              It is in the list below.
            </Text>
          )}
        </Group>
        {error && !atFolder && !atAddress && <Failure error={error} />}
      </Stack>
    </form>
  );
}

function isAbout(error: Error | null, pattern: RegExp): boolean {
  return error instanceof ApiError && pattern.test(error.message);
}
