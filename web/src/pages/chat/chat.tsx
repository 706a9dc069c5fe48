import { Box, Button, Drawer, Group } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { ChatBubbleIcon, PlusIcon } from '@radix-ui/react-icons';
import { useInfiniteQuery, useQueryClient } from '@tanstack/react-query';
import { Link, useNavigate, useParams } from '@tanstack/react-router';
import { useEffect, useState } from 'react';
import { sessions } from '../../api/chat.ts';
import { Page } from '../../parts/page.tsx';
import classes from './chat.module.css';
import { ConversationView } from './conversation.tsx';
import { Conversations } from './conversations.tsx';
import { LiveTurns } from './live-turns.ts';
import { NewConversation } from './new-conversation.tsx';
import { randomUuid } from './random-uuid.ts';

/** A conversation about the backups, beside the list of all conversations. */
export function ChatPage() {
  const { session } = useParams({ strict: false });
  const queries = useQueryClient();
  const navigate = useNavigate();
  const [isListOpen, list] = useDisclosure();
  const [turns] = useState(
    () => new LiveTurns(() => void queries.invalidateQueries({ queryKey: ['chat'] })),
  );
  useEffect(() => () => turns.leave(), [turns]);
  const all = useInfiniteQuery(sessions);
  const name = all.data?.pages.flat().find(({ id }) => id === session)?.session_name;

  const begin = (question: string) => {
    const session = randomUuid();
    void turns.ask(session, question);
    void navigate({ to: '/chat/$session', params: { session } });
  };
  const conversations = <Conversations query={all} current={session} onChoose={list.close} />;
  return (
    <Page
      title={name || 'Chat'}
      aside={
        <Group gap="xs">
          <Button
            hiddenFrom="md"
            variant="default"
            onClick={list.open}
            leftSection={<ChatBubbleIcon />}
          >
            Conversations
          </Button>
          <Button
            component={Link}
            to="/chat"
            variant="default"
            leftSection={<PlusIcon width={16} height={16} />}
          >
            New
          </Button>
        </Group>
      }
    >
      <Drawer opened={isListOpen} onClose={list.close} title="Conversations">
        {conversations}
      </Drawer>
      <div className={classes.columns}>
        <Box component="aside" visibleFrom="md" className={classes.conversations}>
          {conversations}
        </Box>
        <div className={classes.conversation}>
          {session === undefined ? (
            <NewConversation onAsk={begin} />
          ) : (
            <ConversationView key={session} session={session} turns={turns} />
          )}
        </div>
      </div>
    </Page>
  );
}
