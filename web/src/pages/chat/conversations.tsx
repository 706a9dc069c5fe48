import { ActionIcon, Button, Group, Menu, NavLink, Stack, Text } from '@mantine/core';
import { DotsHorizontalIcon, Pencil1Icon, TrashIcon } from '@radix-ui/react-icons';
import type { InfiniteData, UseInfiniteQueryResult } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import type { Session } from '../../api/chat.ts';
import { Loaded } from '../../parts/loading.tsx';
import { DeleteDialog, nameOf, RenameDialog } from './conversation-dialogs.tsx';

interface ConversationsProps {
  query: UseInfiniteQueryResult<InfiniteData<readonly Session[]>, Error>;
  /** The conversation that is open. */
  current: string | undefined;
  onChoose(): void;
}

/** Every conversation of the user, to open, rename or delete. */
export function Conversations({ query, current, onChoose }: ConversationsProps) {
  const [renamed, setRenamed] = useState<Session | null>(null);
  const [deleted, setDeleted] = useState<Session | null>(null);
  return (
    <nav aria-label="Conversations">
      <Loaded query={query} lines={3}>
        {({ pages }) => (
          <Stack gap={2}>
            {pages.flat().map((session) => (
              <Group key={session.id} gap={2} wrap="nowrap">
                <NavLink
                  component={Link}
                  to={`/chat/${session.id}`}
                  label={<bdi>{nameOf(session)}</bdi>}
                  noWrap
                  active={session.id === current}
                  aria-current={session.id === current ? 'page' : undefined}
                  title={nameOf(session)}
                  onClick={onChoose}
                  style={{ flex: '1 1 0', minWidth: 0, borderRadius: 4 }}
                />
                <Menu position="bottom-end">
                  <Menu.Target>
                    <ActionIcon
                      variant="subtle"
                      color="gray"
                      aria-label={`Options for ${nameOf(session)}`}
                    >
                      <DotsHorizontalIcon />
                    </ActionIcon>
                  </Menu.Target>
                  <Menu.Dropdown>
                    <Menu.Item leftSection={<Pencil1Icon />} onClick={() => setRenamed(session)}>
                      Rename
                    </Menu.Item>
                    <Menu.Item
                      color="red"
                      leftSection={<TrashIcon />}
                      onClick={() => setDeleted(session)}
                    >
                      Delete
                    </Menu.Item>
                  </Menu.Dropdown>
                </Menu>
              </Group>
            ))}
            {pages[0]?.length === 0 && (
              <Text size="sm" c="dimmed">
                No conversations yet.
              </Text>
            )}
            {query.hasNextPage && (
              <Button
                variant="subtle"
                size="xs"
                loading={query.isFetchingNextPage}
                onClick={() => void query.fetchNextPage()}
              >
                Load older conversations
              </Button>
            )}
          </Stack>
        )}
      </Loaded>
      {renamed && <RenameDialog session={renamed} onClose={() => setRenamed(null)} />}
      {deleted && (
        <DeleteDialog
          session={deleted}
          isOpen={deleted.id === current}
          onClose={() => setDeleted(null)}
        />
      )}
    </nav>
  );
}
