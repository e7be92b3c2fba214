//! What sessions waited on, longest first: of configurations, of two sides, and of a server that
//! was watched.

use truetps_analysis::{ComparedWaits, TopWait, TopWaits, WaitClass, WaitSource};

use crate::document::{Block, DocumentSection, DocumentTable};
use crate::{ReportInput, format, ledger};

pub(crate) const HEADING: &str = "What sessions waited on";
const HEADER: [&str; 6] = ["rank", "a transaction", "sessions", "counted", "class", "wait"];

/// A few waits as rows of words, with what has no row.
pub(crate) struct WaitsView {
    /// Its configuration; empty where there is one.
    pub(crate) label: String,
    pub(crate) rows: Vec<[String; 6]>,
    pub(crate) more: Option<String>,
}

impl WaitsView {
    fn of(label: String, waits: &TopWaits) -> Self {
        let waits = waits.bounded();
        let rows =
            waits.list.iter().enumerate().map(|(index, wait)| row(index + 1, wait)).collect();
        Self { label, rows, more: more(waits.more) }
    }

    fn table(&self) -> DocumentTable {
        let caption = (!self.label.is_empty()).then(|| self.label.clone());
        DocumentTable::new(HEADER, self.rows.iter().cloned()).with_caption(caption)
    }
}

fn more(more: usize) -> Option<String> {
    (more > 0).then(|| format!("{more} more."))
}

fn row(rank: usize, wait: &TopWait) -> [String; 6] {
    let counted = wait.count.map(|count| format::count(count.round() as u64));
    let counted = match wait.source {
        WaitSource::Timed => format::text_or_nothing(counted),
        WaitSource::Sampled => {
            let share =
                wait.share.map_or(String::new(), |share| format!(" ({})", format::percent(share)));
            format!("{}{share} †", counted.unwrap_or_default())
        }
    };
    [
        rank.to_string(),
        format::or_nothing(wait.us_per_tx, format::duration_us),
        format::tps(wait.sessions),
        counted,
        wait.class.name().to_owned(),
        wait.name.clone(),
    ]
}

/// `redo flush 50.0 µs a transaction (wait/io/file/innodb/innodb_log_file)`.
/// A state that was seen seldom: `commit seen 2 times in 10 readings (Commit)`.
pub(crate) fn in_short(wait: &TopWait, readings: usize) -> String {
    let time = match wait.us_per_tx {
        _ if wait.is_rarely_seen() => {
            let times = format::plural(wait.count.unwrap_or(0.0).round() as u64, "time");
            format!(" seen {times} in {}", format::plural(readings as u64, "reading"))
        }
        Some(us) => format!(" {} a transaction", format::duration_us(us)),
        None => format!(" {} sessions", format::tps(wait.sessions)),
    };
    match wait.class {
        WaitClass::Other => format!("{}{time}", wait.name),
        class => format!("{}{time} ({})", class.name(), wait.name),
    }
}

/// A wait where no transaction is counted: `redo flush: 1.667 sessions
/// (wait/io/file/innodb/innodb_log_file)`.
pub(crate) fn watched_in_short(wait: &TopWait) -> String {
    let sessions = format!("{} sessions", format::tps(wait.sessions));
    match wait.class {
        WaitClass::Other => format!("{}: {sessions}", wait.name),
        class => format!("{}: {sessions} ({})", class.name(), wait.name),
    }
}

/// The longest waits of each configuration that the ledger shows.
pub(crate) fn views(input: &ReportInput<'_>) -> Vec<WaitsView> {
    let Some((at, columns, shown)) = ledger::shown(input) else { return Vec::new() };
    let is_one = input.analysis.cells.len() == 1;
    let views = columns.into_iter().zip(&shown).filter_map(|(column, index)| {
        let waits = input.analysis.cells[*index].detail.waits.as_ref()?;
        let label = match (is_one, at.is_empty()) {
            (true, _) => String::new(),
            (false, true) => column,
            (false, false) => format!("{column} at {at}"),
        };
        Some(WaitsView::of(label, waits))
    });
    views.collect()
}

/// `None` where no wait was seen.
pub(crate) fn section(input: &ReportInput<'_>) -> Option<DocumentSection> {
    let views = views(input);
    let mut blocks: Vec<_> = views.iter().flat_map(blocks_of).collect();
    blocks.push(Block::Paragraph(explained(&views)));
    (!views.is_empty()).then(|| DocumentSection { heading: HEADING.to_owned(), blocks })
}

fn blocks_of(view: &WaitsView) -> impl Iterator<Item = Block> {
    std::iter::once(Block::Table(view.table())).chain(view.more.clone().map(Block::Paragraph))
}

/// How to read the columns.
pub(crate) fn explained(views: &[WaitsView]) -> String {
    let rows = views.iter().flat_map(|view| &view.rows);
    let (sampled, timed): (Vec<_>, Vec<_>) = rows.partition(|row| row[3].ends_with('†'));
    let mut said = vec![
        "Sessions: the average number waiting. A transaction: this number divided by the \
         throughput, the time that a transaction waited."
            .to_owned(),
    ];
    if !timed.is_empty() {
        said.push(
            "Waits without a mark are timed by the server, including the waits of its own threads."
                .to_owned(),
        );
    }
    if !sampled.is_empty() {
        said.push(SAMPLED.to_owned());
    }
    if sampled.iter().any(|row| row[4] == WaitClass::Commit.name()) {
        said.push("A commit contains its waits for the logs.".to_owned());
    }
    said.join(" ")
}

const SAMPLED: &str = "†: sessions that were seen in this state when the server was read, and \
                       their share of all sessions at work: short waits are seen by chance.";

/// The waits of a server that was watched without a load of truetps's.
pub(crate) fn watched(waits: &TopWaits) -> DocumentSection {
    const WITHOUT_TX: [usize; 5] = [0, 2, 3, 4, 5];
    let view = WaitsView::of(String::new(), waits);
    let rows = view.rows.iter().map(|row| WITHOUT_TX.map(|at| row[at].clone()));
    let table = Block::Table(DocumentTable::new(WITHOUT_TX.map(|at| HEADER[at]), rows));
    let explained = "Sessions: how many waited at a time, on average; the server's own threads are \
                     among them where it times its waits. †: sessions that were seen in this \
                     state, and their share of all at work.";
    let said: Vec<_> = view.more.as_deref().into_iter().chain([explained]).collect();
    DocumentSection {
        heading: HEADING.to_owned(),
        blocks: vec![table, Block::Paragraph(said.join(" "))],
    }
}

/// The longest waits of either side; `None` where no side has any.
pub(crate) fn compared(waits: &ComparedWaits, watched: (bool, bool)) -> Option<DocumentSection> {
    let rows = waits.list.iter().enumerate().map(|(index, wait)| {
        let mark = if wait.source == WaitSource::Sampled { " †" } else { "" };
        [
            (index + 1).to_string(),
            format::or_nothing(wait.us_per_tx_a, format::duration_us),
            format::or_nothing(wait.us_per_tx_b, format::duration_us),
            wait.class.name().to_owned(),
            format!("{}{mark}", wait.name),
        ]
    });
    let table = DocumentTable::new(["rank", "A", "B", "class", "wait"], rows).block()?;
    let mut said = Vec::from_iter(more(waits.more));
    said.push(
        "Time that a transaction waited: sessions that waited over the throughput, means over \
         trials, not tested. –: not seen on this side."
            .to_owned(),
    );
    if waits.list.iter().any(|wait| wait.source == WaitSource::Sampled) {
        said.push(
            "†: from sessions that were counted by their state; the others are timed by the \
                   server."
                .to_owned(),
        );
    }
    let unseen = match watched {
        (true, true) => None,
        (false, _) => Some("A"),
        (true, false) => Some("B"),
    };
    said.extend(unseen.map(|side| format!("{side}: no waits recorded.")));
    let heading = format!("{HEADING}, a transaction");
    Some(DocumentSection { heading, blocks: vec![table, Block::Paragraph(said.join(" "))] })
}

#[cfg(test)]
mod tests {
    use truetps_analysis::ComparedWait;

    use super::*;
    use crate::ReportAnswer;
    use crate::fixture::Fixture;

    #[test]
    fn waits_are_ranked_without_a_stall() {
        let fixture = Fixture::watched();
        let views = views(&fixture.input());
        let first = &views[0];
        assert_eq!(first.label, "=1 at 8 connections");
        let names: Vec<_> = first
            .rows
            .iter()
            .map(|row| (row[0].as_str(), row[4].as_str(), row[5].as_str()))
            .collect();
        let expect = [
            ("1", "redo flush", "wait/io/file/innodb/innodb_log_file"),
            ("2", "page flush", "wait/io/file/innodb/innodb_data_file"),
        ];
        assert_eq!(names, expect);
        // Half a session at 1,000 tps.
        assert!(
            first.rows[0][1].starts_with("50") && first.rows[0][1].ends_with(" µs"),
            "{:?}",
            first.rows
        );
        let text = fixture.input().text(crate::TextScreen::PLAIN);
        assert!(text.contains(HEADING) && text.contains("innodb_data_file"), "{text}");
        assert!(section(&Fixture::durability().input()).is_none(), "the probe was off");
    }

    #[test]
    fn waits_of_two_sides_stand_beside_each_other() {
        let wait = ComparedWait {
            name: "Update".to_owned(),
            class: WaitClass::RowLock,
            source: WaitSource::Sampled,
            us_per_tx_a: Some(2500.0),
            us_per_tx_b: None,
        };
        let waits = ComparedWaits { list: vec![wait], more: 0 };
        let DocumentSection { blocks, .. } = compared(&waits, (true, false)).unwrap();
        let [Block::Table(table), Block::Paragraph(said)] = &blocks[..] else {
            panic!("a table and its words")
        };
        let row: Vec<_> = table.rows[0].iter().map(|entry| entry.text.as_str()).collect();
        assert_eq!(row, ["1", "2.50 ms", format::NOTHING, WaitClass::RowLock.name(), "Update †"]);
        assert!(said.ends_with("B: no waits recorded."), "{said}");
    }
}
