//! The reports of a run: by the script's hooks, or by default in sysbench's lines.

use mlua::{Function, Table};
use truetps_record::{Histogram, Interval, NoEvidence, Phase, Validity};

use super::LuaThread;
use super::count::Count;
use super::latency_windows::{log_histogram, percentiles, statement_latencies};
use super::load::LoadRun;
use crate::command::EventsEnding;
use crate::exit_code::{FAILED, GOOD, INTERRUPTED, UNFINISHED};
use crate::lua::{ProcedureFailure, lua_error_text};
use crate::options::SysbenchFormat;
use crate::output::{self, Fairness, FigureStyle, Figures, MessageLevel, lines};
use crate::recording::{RecordedEnd, ScriptRecording};

impl LoadRun<'_> {
    fn style(&self) -> FigureStyle {
        let settings = &self.context.run.settings;
        FigureStyle {
            is_sql: self.context.drivers.are_used(),
            is_cpu: self.context.script.is_cpu(),
            compat: self.context.options.compat,
            percentile: settings.percentile.unwrap_or(0).into(),
            has_rate: settings.rate.is_some(),
            stamp_decimals: settings
                .report_interval
                .map_or(0, |time| FigureStyle::stamp_decimals_of(time.as_secs_f64())),
        }
    }

    fn percentile(&self) -> u8 {
        self.context.run.settings.percentile.unwrap_or(0)
    }

    fn is_json(&self) -> bool {
        self.context.run.settings.ours.format == SysbenchFormat::Json
    }

    pub(super) fn record_second(&mut self, count: &mut Count, now_ns: u64) {
        let ended = count.end_second(&self.context.run, now_ns);
        self.record(ended);
    }

    pub(super) fn record(&mut self, interval: Option<(Interval, Histogram)>) {
        let Some((interval, lengths)) = interval else { return };
        if interval.phase == Phase::Measure {
            // Threads that never end have reported their use up to here.
            self.context.run.usage.next_round();
        }
        if let Some(recording) = &mut self.recording {
            recording.interval(&interval, &lengths);
        }
    }

    pub(super) fn report_interval(&mut self, count: &mut Count, now_ns: u64) {
        let run = &self.context.run;
        count.collect(&run.counters);
        let mut figures =
            count.interval.figures(&run.counters, count.zero_ns, now_ns, self.percentile());
        figures.threads_running = run.control.running();
        figures.queue_length = run.control.queued();
        figures.concurrency = run.counters.events_running();
        count.begin_interval(&run.counters, now_ns);
        let hook = self.main.state.hook(&self.main_client, "report_intermediate");
        if hook.is_some() {
            self.call_in_reporter("report_intermediate", &figures, true);
        } else if !self.is_json() {
            let text = output::intermediate(&figures, &self.style());
            for line in text.lines() {
                run.log.stamped(MessageLevel::Notice, line);
            }
        }
        if self.is_json() {
            count.intervals.push(figures);
        }
    }

    pub(super) fn report_checkpoint(&mut self, count: &mut Count, now_ns: u64) {
        let run = &self.context.run;
        count.collect(&run.counters);
        let mut figures =
            count.total.figures(&run.counters, count.zero_ns, now_ns, self.percentile());
        figures.threads_running = run.control.running();
        let clients = count.total.then.clients(&run.counters);
        count.begin_total(&run.counters, now_ns);
        if self.main.state.hook(&self.main_client, "report_cumulative").is_some() {
            self.call_in_reporter("report_cumulative", &figures, false);
        } else if !self.is_json() {
            run.log.stamped(MessageLevel::Notice, &output::checkpoint(&figures, &self.style()));
            run.log.report(&output::cumulative(
                &figures,
                &Fairness::of(&clients),
                &self.style(),
                None,
            ));
        }
        count.checkpoints.push(figures);
    }

    fn call_in_reporter(&mut self, name: &str, figures: &Figures, is_intermediate: bool) {
        let Some((lua_thread, client)) = &self.reporter else { return };
        let Some(hook) = lua_thread.state.hook(client, name) else { return };
        if let Err(problem) =
            call_hook(lua_thread, self.context.reporter_tid(), &hook, figures, is_intermediate)
        {
            self.say_failed(&ProcedureFailure::new(name, problem));
        }
    }

    /// The last report, `done()`, and the exit status.
    pub(super) fn finish(mut self, ending: EventsEnding, count: &mut Count) -> u8 {
        let run = std::sync::Arc::clone(&self.context.run);
        let now_ns = run.control.now_ns();
        let unfinished = run.counters.events_running();
        run.control.abandon();
        count.collect(&run.counters);
        let figures = count.total.figures(&run.counters, count.zero_ns, now_ns, self.percentile());
        let clients = count.total.then.clients(&run.counters);
        self.record_second(count, now_ns);
        self.meet(self.presence.arrivals());
        if let Some(recording) = &mut self.recording {
            recording.ran_beside(&self.beside);
        }
        let full = self.full_worker(count);
        let own = crate::recording::validity(ending, &count.recorded);
        let apart = self.end_together(&own);
        let is_whole = apart.is_none();
        let mut validity = apart.map_or(own, Validity::invalid);
        let end =
            RecordedEnd { ending, count, totals: &figures, clients: &clients, style: self.style() };
        // Saved first: a reader of the report may block.
        let mut is_recorded = false;
        if let Some(recording) = &mut self.recording {
            is_recorded = recording.finish(&end, validity);
            validity = recording.validity().clone();
        }
        if matches!(ending, EventsEnding::Complete | EventsEnding::Failed) {
            run.log.text(MessageLevel::Info, lines::DONE);
        }
        match ending {
            EventsEnding::Forced => run.log.text(MessageLevel::Fatal, lines::FORCED_SHUTDOWN),
            EventsEnding::Hanging => {
                run.log.text(MessageLevel::Fatal, &self.hanging_text(unfinished));
            }
            _ => {}
        }
        // Its state ends before the last report, so that output begun by its hooks is completed
        // first.
        self.reporter = None;
        let is_printed =
            ending == EventsEnding::Failed || self.report_end(&end, &validity, unfinished);
        let is_cut = matches!(ending, EventsEnding::Forced | EventsEnding::Hanging);
        if !is_cut && let Err(failure) = self.call_done() {
            self.say_failed(&failure);
        }
        // After all of sysbench's own actions. Skipped if the server hangs or the user waits.
        let is_over = matches!(ending, EventsEnding::Complete | EventsEnding::Failed);
        let kept = self
            .recording
            .as_ref()
            .filter(|recording| is_recorded && is_over && recording.path().is_some());
        kept.into_iter().for_each(ScriptRecording::keep_settings);
        if let Some(text) = full {
            // A failed write is ignored.
            let _ =
                rustix::io::write(rustix::stdio::stderr(), format!("truetps: {text}\n").as_bytes());
        }
        // Where the user finds it: the last line.
        let recorded = self.recording.as_ref().filter(|_| is_recorded);
        if let Some(path) = recorded.and_then(ScriptRecording::path) {
            self.remark(&format!("recorded in {}", path.display()));
        }
        match ending {
            EventsEnding::Complete if is_printed && is_whole => GOOD,
            EventsEnding::Complete | EventsEnding::Failed => FAILED,
            EventsEnding::Forced | EventsEnding::Hanging => UNFINISHED,
            EventsEnding::Interrupted => INTERRUPTED,
        }
    }

    /// Words for the user where a thread of the clients limited the figures. The record has the
    /// finding itself.
    fn full_worker(&self, count: &Count) -> Option<String> {
        let limit = crate::recording::full_worker(&self.context, &count.recorded)?;
        Some(format!("generator-limited, the server may be faster: {limit}"))
    }

    /// Tells the other parts how this one ended, and learns how they did: why the figures, which
    /// are good in this part, are no evidence.
    fn end_together(&mut self, own: &Validity) -> Option<NoEvidence> {
        let problem = own.reason().map(ToString::to_string);
        let apart = self.part.as_mut()?.meeting.end(problem.as_deref());
        let reason = NoEvidence::PartsApart { problem: apart.filter(|_| problem.is_none())? };
        self.context.run.say_no_evidence(&reason);
        Some(reason)
    }

    fn hanging_text(&self, unfinished: u64) -> String {
        let seconds =
            self.context.run.settings.ours.drain_timeout.map_or(0.0, |time| time.as_secs_f64());
        format!(
            "{unfinished} events were still running {seconds} seconds after --time and were \
             abandoned (--drain-timeout)"
        )
    }

    /// Whether the report was written where requested.
    fn report_end(&mut self, end: &RecordedEnd<'_>, validity: &Validity, unfinished: u64) -> bool {
        let run = &self.context.run;
        let settings = &run.settings;
        let (count, figures) = (end.count, end.totals);
        if self.is_json() {
            let written =
                run.log.document(&crate::recording::document(end, validity, &self.context));
            if let Err(error) = &written {
                run.log
                    .text(MessageLevel::Fatal, &format!("the report cannot be written: {error}"));
            }
            return written.is_ok();
        }
        if let Some(hook) = self.main.state.hook(&self.main_client, "report_cumulative") {
            if let Err(problem) = call_hook(self.main, 0, &hook, figures, false) {
                self.say_failed(&ProcedureFailure::new("report_cumulative", problem));
            }
            return true;
        }
        if settings.histogram {
            run.log.report(&log_histogram(&count.total.events).report());
        }
        let is_cut = matches!(end.ending, EventsEnding::Forced | EventsEnding::Hanging);
        let fairness = Fairness::of(end.clients);
        run.log.report(&output::cumulative(
            figures,
            &fairness,
            &end.style,
            is_cut.then_some(unfinished),
        ));
        if settings.debug {
            run.log.report(&output::per_client(end.clients));
        }
        self.report_extras(count, figures.time_interval_s);
        true
    }

    /// Reports requested besides sysbench's own.
    fn report_extras(&self, count: &Count, seconds: f64) {
        let run = &self.context.run;
        let ours = &run.settings.ours;
        let events = &count.total.events;
        let mut texts = vec![output::percentiles(&percentiles(events, &ours.percentiles))];
        if ours.latency_by_statement {
            let wanted = if ours.percentiles.is_empty() {
                vec![f64::from(self.percentile())]
            } else {
                ours.percentiles.clone()
            };
            texts.push(output::statement_latency(&statement_latencies(&count.statements, &wanted)));
        }
        if ours.errors_by_class {
            texts.push(output::errors_by_class(&crate::recording::errors(events), seconds));
        }
        for text in texts.iter().filter(|text| !text.is_empty()) {
            run.log.report(text);
        }
    }

    fn call_done(&mut self) -> Result<(), ProcedureFailure> {
        if !self.main.state.has(&self.main_client, "done") {
            return Ok(());
        }
        self.main.is_at_the_end = true;
        call_function(self.main, 0, &self.main_client, "done")
    }
}

/// Calls a global function of the script, without arguments.
pub(crate) fn call_function(
    lua_thread: &mut LuaThread,
    tid: u32,
    client: &Table,
    name: &str,
) -> Result<(), ProcedureFailure> {
    let set = client.set("called", name);
    set.map_err(|error| ProcedureFailure::new(name, lua_error_text(&error)))?;
    lua_thread.run_to_end(tid, client, "call")
}

fn call_hook(
    lua_thread: &LuaThread,
    tid: u32,
    hook: &Function,
    figures: &Figures,
    is_intermediate: bool,
) -> Result<(), String> {
    let called = hook_figures(lua_thread, figures, is_intermediate)
        .and_then(|stat| lua_thread.in_the_name_of(tid, || lua_thread.state.call_hook(hook, stat)));
    match called {
        Ok(None) => Ok(()),
        Ok(Some(problem)) => Err(problem),
        Err(error) => Err(lua_error_text(&error)),
    }
}

fn hook_figures(
    lua_thread: &LuaThread,
    figures: &Figures,
    is_intermediate: bool,
) -> mlua::Result<Table> {
    let stat = lua_thread.state.lua.create_table()?;
    stat.set("threads_running", figures.threads_running)?;
    stat.set("time_interval", figures.time_interval_s)?;
    stat.set("time_total", figures.time_total_s)?;
    stat.set("latency_pct", figures.latency_pct_s)?;
    stat.set("events", figures.events)?;
    stat.set("reads", figures.reads)?;
    stat.set("writes", figures.writes)?;
    stat.set("other", figures.other)?;
    stat.set("errors", figures.errors)?;
    stat.set("reconnects", figures.reconnects)?;
    if is_intermediate {
        stat.set("queue_length", figures.queue_length)?;
        stat.set("concurrency", figures.concurrency)?;
    } else {
        stat.set("latency_min", figures.latency_min_s)?;
        stat.set("latency_max", figures.latency_max_s)?;
        stat.set("latency_avg", figures.latency_avg_s)?;
        stat.set("latency_sum", figures.latency_sum_s)?;
    }
    Ok(stat)
}
