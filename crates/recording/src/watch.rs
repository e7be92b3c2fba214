//! Watches server and host during a load: two threads with a clock each, so that a server that
//! hangs does not stop the readings of the host, and one file.
//!
//! Ticks are on the engine's clock, once that is known; earlier readings are held back until then.

use std::collections::BTreeMap;
use std::io;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use truetps_driver::{DriverError, Target};
use truetps_folder::{FolderError, ProbeWriter};
use truetps_probe::{Changes, HostWatch, ProbeReading, ProbeValues, ServerWatch};
use truetps_record::{
    AbsentSignal, Family, ProbeHeader, ProbeSample, ProbeSource, SCHEMA_VERSION, SignalRegistry,
};

/// A reading that began this shortly before stands for the requested one.
const SAME: Duration = Duration::from_millis(20);
/// Time limit for a reading in progress at the end: a server that hangs delays nothing.
const END_LIMIT: Duration = Duration::from_secs(2);

const GOODBYE: Duration = Duration::from_millis(200);

/// What is watched, and which parts are absent.
#[derive(Debug)]
pub struct WatchedServer {
    family: Family,
    server: Option<ServerWatch>,
    host: HostWatch,
    pid: Option<u32>,
    absent: Vec<AbsentSignal>,
}

impl WatchedServer {
    /// The server of a target, with a session of its own, and the host. `pid`: of the server's
    /// first process, if known; behind a unix socket it is found.
    ///
    /// # Errors
    ///
    /// The login fails.
    pub fn log_in(target: &Target, pid: Option<u32>) -> Result<Self, DriverError> {
        let (server, absent) = ServerWatch::begin(target)?;
        let pid = pid.or(server.pid());
        let host = HostWatch::new(pid);
        Ok(Self { family: target.dialect.into(), server: Some(server), host, pid, absent })
    }

    /// As [`Self::log_in`], during a load that needs this many further sessions: a server without a
    /// free session is absent, and the host is watched.
    pub(crate) fn beside_load(target: &Target, pid: Option<u32>, sessions: u32) -> Self {
        let why = if target.endpoints.len() > 1 {
            "the load goes to several servers".to_owned()
        } else {
            match Self::log_in(target, pid) {
                Err(error) => error.to_string(),
                Ok(mut watched) => {
                    if watched.server.as_mut().is_none_or(|server| server.leaves_room_for(sessions))
                    {
                        return watched;
                    }
                    drop(watched);
                    // The server counts a session for a moment after it was closed.
                    thread::sleep(GOODBYE);
                    "no session is left besides the ones of the load".to_owned()
                }
            }
        };
        let absent = ServerWatch::all_absent(target.dialect, &why);
        Self { family: target.dialect.into(), server: None, host: HostWatch::new(pid), pid, absent }
    }

    /// The server's first process; `None` if it is not on this host or unknown.
    pub(crate) fn pid(&self) -> Option<u32> {
        self.pid
    }

    /// The server's settings; `None` if they could not be read, or the server is not watched.
    pub fn settings(&mut self) -> Option<BTreeMap<String, String>> {
        self.server.as_mut().and_then(ServerWatch::settings)
    }

    /// The server's version text; `None` if the server is not watched.
    pub fn version_text(&self) -> Option<&str> {
        self.server.as_ref().map(ServerWatch::version_text)
    }
}

/// What is read, and how: `None` if nothing could be read this time.
type SampleReader = (ProbeSource, Box<dyn FnMut() -> Option<ProbeReading> + Send>);

enum WatchCommand {
    /// Ticks count from this moment.
    Clock(Instant),
    /// Read now, whatever the clock says.
    Now,
    End,
}

struct WatchThread {
    commands: Sender<WatchCommand>,
    /// Carries nothing: it closes when the thread has ended.
    ended: Receiver<()>,
    thread: JoinHandle<()>,
}

/// Server and host are being watched.
pub struct TrialWatch {
    sink: Arc<Mutex<ProbeSink>>,
    watchers: Vec<WatchThread>,
    header: ProbeHeader,
    samples: Receiver<ProbeSample>,
    not_started: Vec<String>,
}

impl TrialWatch {
    /// Starts at once. `create` creates the file.
    ///
    /// # Errors
    ///
    /// The file cannot be created.
    pub fn start(
        watched: WatchedServer,
        interval: Duration,
        create: impl FnOnce(&ProbeHeader) -> Result<ProbeWriter, FolderError>,
    ) -> Result<Self, FolderError> {
        let WatchedServer { family, server, mut host, mut absent, .. } = watched;
        absent.extend(host.read().absent);
        let mut signals = SignalRegistry::default();
        signals.add(host.signals());
        signals.add(server.iter().flat_map(ServerWatch::signals));
        let header = ProbeHeader {
            schema_version: SCHEMA_VERSION,
            interval_ms: interval.as_secs_f64() * 1e3,
            family: Some(family),
            flavour: server.as_ref().and_then(ServerWatch::flavour),
            absent,
            signals,
        };
        let mut readers: Vec<SampleReader> =
            vec![(ProbeSource::Host, Box::new(move || Some(host.read())))];
        if let Some(mut server) = server {
            readers.push((ProbeSource::Server, Box::new(move || server.read())));
        }
        Self::of(readers, header, interval, watcher, create)
    }

    /// A thread for each reader, started by `spawn`. The header lists no values of a thread that
    /// could not be started.
    fn of(
        readers: Vec<SampleReader>,
        header: ProbeHeader,
        interval: Duration,
        spawn: impl Fn(Loop) -> io::Result<WatchThread>,
        create: impl FnOnce(&ProbeHeader) -> Result<ProbeWriter, FolderError>,
    ) -> Result<Self, FolderError> {
        let (samples_out, samples) = channel();
        // Until the clock is known, readings are held back and need no file.
        let sink = ProbeSink {
            writer: None,
            zero: None,
            held: Vec::new(),
            samples: samples_out,
            error: None,
        };
        let sink = Arc::new(Mutex::new(sink));
        let mut watch =
            Self { sink, watchers: Vec::new(), header, samples, not_started: Vec::new() };
        for (source, read) in readers {
            let changes = Changes::new(watch.header.signals.clone(), &watch.header.absent);
            match spawn(Loop {
                source,
                interval,
                sink: Arc::clone(&watch.sink),
                changes,
                read,
                last: None,
            }) {
                Ok(thread) => watch.watchers.push(thread),
                Err(error) => watch.leave_out(source, &error),
            }
        }
        let writer = create(&watch.header)?;
        lock(&watch.sink).writer = Some(writer);
        Ok(watch)
    }

    fn leave_out(&mut self, source: ProbeSource, error: &io::Error) {
        let what = match source {
            ProbeSource::Server => "server",
            ProbeSource::Host => "host",
        };
        let why = format!("no thread could be started: {error}");
        self.not_started.push(format!("the {what} was not watched: {why}"));
        self.header.signals.remove(source);
        if let Some(family) = self.header.family.filter(|_| source == ProbeSource::Server) {
            self.header.absent.extend(ServerWatch::all_absent(family.dialect(), &why));
        }
    }

    /// What is not watched because the system started no thread for it.
    pub fn not_started(&self) -> &[String] {
        &self.not_started
    }

    /// The first line of the file.
    pub fn header(&self) -> &ProbeHeader {
        &self.header
    }

    /// All times count from here.
    pub fn clock(&self, zero: Instant) {
        lock(&self.sink).set_zero(zero);
        self.send_command(|| WatchCommand::Clock(zero));
    }

    /// Whether all readings so far were written.
    pub fn is_recording(&self) -> bool {
        lock(&self.sink).error.is_none()
    }

    /// Reads now: a phase begins or ends.
    pub fn mark(&self) {
        self.send_command(|| WatchCommand::Now);
    }

    fn send_command(&self, command: impl Fn() -> WatchCommand) {
        for watcher in &self.watchers {
            // A thread that has ended receives nothing.
            let _ = watcher.commands.send(command());
        }
    }

    /// Samples received since the last call.
    pub fn samples(&self) -> impl Iterator<Item = ProbeSample> {
        self.samples.try_iter()
    }

    /// Stops watching: pending readings are awaited for a moment. Returns why not all were written.
    pub fn end(&mut self) -> Option<FolderError> {
        self.send_command(|| WatchCommand::End);
        let deadline = Instant::now() + END_LIMIT;
        for watcher in self.watchers.drain(..) {
            let left = deadline.saturating_duration_since(Instant::now());
            if watcher.ended.recv_timeout(left) == Err(RecvTimeoutError::Disconnected) {
                // A panic of the thread has been reported; its readings are on disk.
                let _ = watcher.thread.join();
            }
        }
        let mut sink = lock(&self.sink);
        // A thread that still waits for its server has no file to write to any more.
        sink.writer = None;
        sink.error.take()
    }
}

impl Drop for TrialWatch {
    fn drop(&mut self) {
        if !self.watchers.is_empty() {
            self.end();
        }
    }
}

fn lock(sink: &Mutex<ProbeSink>) -> MutexGuard<'_, ProbeSink> {
    sink.lock().unwrap_or_else(PoisonError::into_inner)
}

fn watcher(body: Loop) -> io::Result<WatchThread> {
    let (commands, heard) = channel();
    let (alive, ended) = channel();
    let name = format!("probe-{:?}", body.source).to_lowercase();
    let thread = thread::Builder::new().name(name).spawn(move || {
        body.run(&heard);
        drop(alive);
    })?;
    Ok(WatchThread { commands, ended, thread })
}

/// What one thread does.
struct Loop {
    source: ProbeSource,
    interval: Duration,
    sink: Arc<Mutex<ProbeSink>>,
    changes: Changes,
    read: Box<dyn FnMut() -> Option<ProbeReading> + Send>,
    /// When the last reading began.
    last: Option<Instant>,
}

impl Loop {
    fn run(mut self, commands: &Receiver<WatchCommand>) {
        let mut zero = Instant::now();
        let mut next = zero;
        loop {
            match commands.recv_timeout(next.saturating_duration_since(Instant::now())) {
                Ok(WatchCommand::Clock(now_known)) => zero = now_known,
                Ok(WatchCommand::Now) | Err(RecvTimeoutError::Timeout) => self.sample(),
                Ok(WatchCommand::End) | Err(RecvTimeoutError::Disconnected) => return,
            }
            next = next_tick(zero, self.interval, Instant::now());
        }
    }

    fn sample(&mut self) {
        let began = Instant::now();
        if self.last.is_some_and(|last| began.saturating_duration_since(last) < SAME) {
            return;
        }
        self.last = Some(began);
        let Some(reading) = (self.read)() else { return };
        let ended = Instant::now();
        let (values, lost) = self.changes.since_last(reading);
        lock(&self.sink).record_reading(TimedReading {
            source: self.source,
            began,
            ended,
            values,
            lost,
        });
    }
}

/// The first tick after `now`; missed ticks are not made up for.
fn next_tick(zero: Instant, interval: Duration, now: Instant) -> Instant {
    let Some(since) = now.checked_duration_since(zero) else { return zero };
    let passed = (since.as_secs_f64() / interval.as_secs_f64()).floor();
    let next = zero + interval.mul_f64(passed + 1.0);
    if next > now { next } else { next + interval }
}

/// A reading whose place on the clock may not be known yet.
struct TimedReading {
    source: ProbeSource,
    began: Instant,
    ended: Instant,
    values: ProbeValues,
    lost: Vec<AbsentSignal>,
}

struct ProbeSink {
    /// `None`: the watch has not begun, or is over.
    writer: Option<ProbeWriter>,
    zero: Option<Instant>,
    held: Vec<TimedReading>,
    samples: Sender<ProbeSample>,
    error: Option<FolderError>,
}

impl ProbeSink {
    fn set_zero(&mut self, zero: Instant) {
        self.zero = Some(zero);
        for taken in std::mem::take(&mut self.held) {
            self.write(zero, taken);
        }
    }

    fn record_reading(&mut self, taken: TimedReading) {
        match self.zero {
            Some(zero) => self.write(zero, taken),
            None => self.held.push(taken),
        }
    }

    fn write(&mut self, zero: Instant, taken: TimedReading) {
        let Some(writer) = &mut self.writer else { return };
        let TimedReading { source, began, ended, values, lost } = taken;
        let took_ms = (ended - began).as_secs_f64() * 1e3;
        let since = began.saturating_duration_since(zero).as_secs_f64()
            - zero.saturating_duration_since(began).as_secs_f64();
        let at_ms = to_microseconds(since * 1e3 + took_ms / 2.0);
        let sample = ProbeSample { source, at_ms, took_ms: to_microseconds(took_ms), values, lost };
        if self.error.is_none() {
            self.error = writer.append(&sample).err();
        }
        // The receiver may be gone.
        let _ = self.samples.send(sample);
    }
}

fn to_microseconds(ms: f64) -> f64 {
    (ms * 1e3).round() / 1e3
}

#[cfg(test)]
mod tests {
    use truetps_folder::ProbeFolder;
    use truetps_record::{ProbeRun, ServerFacts};

    use super::*;

    fn counting() -> impl FnMut() -> Option<ProbeReading> + Send + 'static {
        let mut n = 0.0;
        move || {
            n += 1.0;
            Some(ProbeReading {
                values: ProbeValues::from([("host.n".to_owned(), n)]),
                absent: Vec::new(),
            })
        }
    }

    fn header() -> ProbeHeader {
        ProbeHeader::of_version_1(50.0, None)
    }

    fn writer(dir: &tempfile::TempDir) -> (ProbeFolder, ProbeWriter) {
        let run = ProbeRun {
            schema_version: SCHEMA_VERSION,
            tool_version: String::new(),
            target: String::new(),
            server: ServerFacts::from_version_text("8.0.36"),
            platform: None,
            hostname: String::new(),
            started_at: String::new(),
            ended_at: None,
            kept_bytes: None,
            suspensions: Vec::new(),
        };
        let folder = ProbeFolder::create(dir.path(), "probe", &run).unwrap();
        let writer = folder.begin(&header()).unwrap();
        (folder, writer)
    }

    #[test]
    fn a_server_that_hangs_keeps_neither_the_host_nor_the_end() {
        let dir = tempfile::tempdir().unwrap();
        let (folder, writer) = writer(&dir);
        let hangs = || {
            thread::sleep(Duration::from_secs(20));
            Some(ProbeReading::default())
        };
        let readers: Vec<SampleReader> =
            vec![(ProbeSource::Host, Box::new(counting())), (ProbeSource::Server, Box::new(hangs))];
        let interval = Duration::from_millis(50);
        let mut watch =
            TrialWatch::of(readers, header(), interval, watcher, |_| Ok(writer)).unwrap();
        watch.clock(Instant::now());
        thread::sleep(Duration::from_millis(500));
        watch.mark();
        let began = Instant::now();
        assert!(watch.end().is_none());
        assert!(began.elapsed() < END_LIMIT + Duration::from_secs(1), "{:?}", began.elapsed());
        let series = folder.series().unwrap();
        let (host, server) = (series.times(ProbeSource::Host), series.times(ProbeSource::Server));
        assert!((5..=12).contains(&host.len()) && server.is_empty(), "{host:?} {server:?}");
    }

    #[test]
    fn what_was_read_before_the_clock_is_kept_back_until_it_is_known() {
        let dir = tempfile::tempdir().unwrap();
        let (folder, writer) = writer(&dir);
        let readers: Vec<SampleReader> = vec![(ProbeSource::Host, Box::new(counting()))];
        let interval = Duration::from_mins(1);
        let mut watch =
            TrialWatch::of(readers, header(), interval, watcher, |_| Ok(writer)).unwrap();
        thread::sleep(Duration::from_millis(200));
        assert!(folder.series().unwrap().times(ProbeSource::Host).is_empty());
        watch.clock(Instant::now());
        watch.mark();
        assert!(watch.end().is_none());
        let times = folder.series().unwrap().times(ProbeSource::Host).to_vec();
        assert!(times.len() >= 2 && times[0] < -100.0 && times[1] > -50.0, "{times:?}");
        assert_eq!(watch.samples().count(), times.len());
    }

    #[test]
    fn a_thread_that_cannot_be_started_is_reported_and_has_no_values() {
        let dir = tempfile::tempdir().unwrap();
        let (_folder, writer) = writer(&dir);
        let readers: Vec<SampleReader> = vec![
            (ProbeSource::Host, Box::new(counting())),
            (ProbeSource::Server, Box::new(counting())),
        ];
        let header = ProbeHeader { family: Some(Family::Mysql), ..header() };
        let spawn = |body: Loop| match body.source {
            ProbeSource::Server => Err(io::Error::other("too many threads")),
            ProbeSource::Host => watcher(body),
        };
        let mut written = None;
        let create = |header: &ProbeHeader| {
            written = Some(header.clone());
            Ok(writer)
        };
        let mut watch =
            TrialWatch::of(readers, header, Duration::from_mins(1), spawn, create).unwrap();
        assert!(watch.end().is_none());
        let why = "no thread could be started: too many threads";
        assert_eq!(watch.not_started(), [format!("the server was not watched: {why}")]);
        let header = written.unwrap();
        assert!(header.signals.has(ProbeSource::Host) && !header.signals.has(ProbeSource::Server));
        assert!(
            header.absent.iter().any(|absent| absent.what == "status" && absent.why == why),
            "{header:?}"
        );
    }

    #[test]
    fn ticks_are_on_the_clock() {
        let zero = Instant::now();
        let ms = Duration::from_millis;
        let check = |now: u64, expect: u64| {
            assert_eq!(next_tick(zero, ms(250), zero + ms(now)), zero + ms(expect), "{now}");
        };
        check(0, 250);
        check(249, 250);
        check(250, 500);
        check(1_700, 1_750);
        assert_eq!(
            next_tick(zero + ms(5), ms(250), zero),
            zero + ms(5),
            "the first one is the zero itself"
        );
    }
}
