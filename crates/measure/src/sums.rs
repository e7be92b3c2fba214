//! What was counted in a period, and how the sums of several workers, and of periods that follow
//! each other, are added up.

use truetps_record::{Counts, ErrorTally, Histogram, OpenLoop, StartCounts, new_histogram};

/// Transactions of one period, by one worker or by all.
#[derive(Debug)]
pub struct PeriodSums {
    pub counts: Counts,
    pub response: Histogram,
    /// Figures that only an open loop adds.
    pub open: Option<Box<OpenSums>>,
    pub errors: ErrorTally,
}

#[derive(Debug)]
pub struct OpenSums {
    pub starts: StartCounts,
    pub(crate) service: Histogram,
    pub(crate) lag: Histogram,
    pub(crate) late: Histogram,
}

impl PeriodSums {
    pub fn new(is_open: bool) -> Self {
        Self {
            counts: Counts::default(),
            response: new_histogram(),
            open: is_open.then(|| Box::new(OpenSums::new(StartCounts::default()))),
            errors: ErrorTally::default(),
        }
    }

    /// The sums of the period that follows, so far.
    pub(crate) fn next(&self) -> Self {
        let in_flight = self.counts.in_flight;
        let open = self.open.as_ref().map(|open| {
            let queued = open.starts.queued;
            Box::new(OpenSums::new(StartCounts {
                queued_in: queued,
                queued,
                ..StartCounts::default()
            }))
        });
        let counts = Counts { carried_in: in_flight, in_flight, ..Counts::default() };
        Self { counts, response: new_histogram(), open, errors: ErrorTally::default() }
    }

    /// The period that follows begins, in the same memory.
    pub(crate) fn restart(&mut self) {
        let in_flight = self.counts.in_flight;
        self.counts = Counts { carried_in: in_flight, in_flight, ..Counts::default() };
        reset(&mut self.response);
        if let Some(open) = &mut self.open {
            let queued = open.starts.queued;
            open.starts = StartCounts { queued_in: queued, queued, ..StartCounts::default() };
            [&mut open.service, &mut open.lag, &mut open.late].into_iter().for_each(reset);
        }
        self.errors = ErrorTally::default();
    }

    /// Adds another worker's sums of the same period.
    pub fn merge_worker(&mut self, other: &Self) {
        self.counts.merge_worker(&other.counts);
        if let (Some(ours), Some(theirs)) = (&mut self.open, &other.open) {
            ours.starts.merge_worker(&theirs.starts);
        }
        self.add_histograms(other);
    }

    /// Appends the period that follows this one.
    pub fn append(&mut self, next: &Self) {
        self.counts.append(&next.counts);
        if let (Some(ours), Some(theirs)) = (&mut self.open, &next.open) {
            ours.starts.append(&theirs.starts);
        }
        self.add_histograms(next);
    }

    fn add_histograms(&mut self, other: &Self) {
        add_histogram(&mut self.response, &other.response);
        if let (Some(ours), Some(theirs)) = (&mut self.open, &other.open) {
            add_histogram(&mut ours.service, &theirs.service);
            add_histogram(&mut ours.lag, &theirs.lag);
            add_histogram(&mut ours.late, &theirs.late);
        }
        self.errors.merge(&other.errors);
    }

    /// Figures of an open loop; `None` in a closed one.
    pub fn open_loop(&self) -> Option<OpenLoop> {
        let open = self.open.as_ref()?;
        Some(OpenLoop::of(open.starts, &open.service, &open.lag, &open.late))
    }

    /// Panics if an equation does not hold.
    pub fn assert_consistent(&self) {
        self.counts.assert_consistent();
        if let Some(open) = &self.open {
            open.starts.assert_consistent(self.counts.started);
        }
    }
}

impl OpenSums {
    fn new(starts: StartCounts) -> Self {
        Self { starts, service: new_histogram(), lag: new_histogram(), late: new_histogram() }
    }
}

fn add_histogram(ours: &mut Histogram, theirs: &Histogram) {
    if !theirs.is_empty() {
        ours.add(theirs).expect("all histograms have the same bounds");
    }
}

fn reset(histogram: &mut Histogram) {
    if !histogram.is_empty() {
        histogram.reset();
    }
}
