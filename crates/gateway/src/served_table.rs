//! One table that takes rows: its queue, commit connections and figures.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::oneshot;
use truetps_batch::{
    CommitAnswer, CommitQueue, CommitSettings, CommitThreads, FigureHistogram, RowReply,
    TableInspection,
};
use truetps_driver::{Client, Target};

use crate::config::{ChangedRows, GatewayConfig, QueueConfig, TableConfig};
use crate::durability::{DurabilityVerdict, read_durability};
use crate::row_counts::AnswerCounts;

const CLIENT_TIME: Duration = Duration::from_secs(5);

/// The way back to a request. A client that has gone has dropped the receiver.
pub(crate) struct RequestReply {
    sender: oneshot::Sender<CommitAnswer>,
    /// The runtime of the requests. Each row without an answer holds it.
    runtime: Arc<Handle>,
}

impl RowReply for RequestReply {
    fn is_abandoned(&self) -> bool {
        self.sender.is_closed()
    }

    fn answer(self, answer: CommitAnswer) {
        // A client that has gone at this moment does not receive it.
        let _ = self.sender.send(answer);
    }

    /// Within their runtime: to wake the task of each request from another thread costs more.
    fn answer_all(answers: Vec<(Self, CommitAnswer)>) {
        let runtime = answers.first().map(|(reply, _)| Handle::clone(&reply.runtime));
        if let Some(runtime) = runtime {
            runtime.spawn(async move {
                for (reply, answer) in answers {
                    reply.answer(answer);
                }
            });
        }
    }
}

pub(crate) struct ServedTable {
    pub(crate) name: String,
    /// The path of its rows, `/v1/NAME`.
    pub(crate) path: String,
    pub(crate) queue: Arc<CommitQueue<RequestReply>>,
    pub(crate) idempotency_column: Option<String>,
    /// A row is answered after this time.
    pub(crate) answer_time: Duration,
    pub(crate) rows: AnswerCounts,
    /// From the whole request to its answer.
    answer_seconds: Mutex<FigureHistogram>,
    durability: RwLock<DurabilityVerdict>,
    target: Target,
    threads: Mutex<Option<CommitThreads>>,
    runtime: Arc<Handle>,
}

impl ServedTable {
    pub(crate) fn commit_settings(
        config: &TableConfig,
        queue: &QueueConfig,
        target: &Target,
    ) -> CommitSettings {
        CommitSettings {
            target: target.clone(),
            table: config.name.clone(),
            key: config.key.clone(),
            statement_time: Duration::from_millis(queue.statement_ms),
            compares: config.compare,
            refuses_changes: config.changed == ChangedRows::Refuse,
            connections: config.connections,
        }
    }

    pub(crate) fn start(
        config: &TableConfig,
        gateway: &GatewayConfig,
        settings: &CommitSettings,
        inspection: TableInspection,
        runtime: &Handle,
    ) -> io::Result<Self> {
        let limits = gateway.queue.limits(gateway.limits.peer_share);
        let commits = Arc::new(CommitQueue::new(inspection.columns, limits, settings.connections));
        let threads = CommitThreads::start(settings, &commits)?;
        Ok(Self {
            name: config.name.clone(),
            path: format!("/v1/{}", config.name),
            queue: commits,
            idempotency_column: config.idempotency_column.clone(),
            answer_time: Duration::from_millis(gateway.queue.answer_ms),
            rows: AnswerCounts::default(),
            answer_seconds: Mutex::new(FigureHistogram::of_seconds()),
            durability: RwLock::new(DurabilityVerdict::unknown("not read yet".to_owned())),
            target: settings.target.clone(),
            threads: Mutex::new(Some(threads)),
            runtime: Arc::new(runtime.clone()),
        })
    }

    /// A way back for one row, and its other end.
    pub(crate) fn reply(&self) -> (RequestReply, oneshot::Receiver<CommitAnswer>) {
        let (sender, receiver) = oneshot::channel();
        (RequestReply { sender, runtime: Arc::clone(&self.runtime) }, receiver)
    }

    pub(crate) fn durability(&self) -> DurabilityVerdict {
        self.durability.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// For the header of each answer.
    pub(crate) fn durability_word(&self) -> &'static str {
        self.durability.read().unwrap_or_else(PoisonError::into_inner).word
    }

    /// Reads again what a commit survives: settings may change while the server runs.
    pub(crate) fn read_durability(&self) {
        let read = Client::connect(&self.target, CLIENT_TIME)
            .and_then(|mut client| read_durability(&mut client));
        let verdict = read.unwrap_or_else(|error| DurabilityVerdict::unknown(error.to_string()));
        *self.durability.write().unwrap_or_else(PoisonError::into_inner) = verdict;
    }

    pub(crate) fn note_answer(&self, took: Duration) {
        self.lock_seconds().add(took.as_secs_f64());
    }

    pub(crate) fn answer_seconds(&self) -> FigureHistogram {
        self.lock_seconds().clone()
    }

    fn lock_seconds(&self) -> MutexGuard<'_, FigureHistogram> {
        self.answer_seconds.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a row that was taken has no answer yet.
    pub(crate) fn has_open_rows(&self) -> bool {
        Arc::strong_count(&self.runtime) > 1
    }

    /// Whether all commit connections have ended, after the queue was closed.
    pub(crate) fn has_ended(&self) -> bool {
        let threads = self.threads.lock().unwrap_or_else(PoisonError::into_inner);
        threads.as_ref().is_none_or(CommitThreads::have_ended)
    }
}

/// Lets the commit connections end.
impl Drop for ServedTable {
    fn drop(&mut self) {
        self.queue.close();
    }
}
