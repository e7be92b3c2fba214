//! The validity of a trial, from everything that was found out about it.

use truetps_record::{NoEvidence, Validity};

/// The state of a server after a trial.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum ServerState {
    /// It was not ready for the trial.
    NotReady,
    Answers,
    /// It died or hangs, for this reason.
    Gone(NoEvidence),
}

/// What is known about a trial.
#[derive(Debug)]
pub(crate) struct TrialEvidence {
    /// The load's own validity, or why there was none.
    pub(crate) load: Validity,
    pub(crate) server: ServerState,
    /// Why an external server was not the same during the whole trial.
    pub(crate) trouble: Option<String>,
    /// Why the load of all parts was not whole.
    pub(crate) parts: Option<String>,
    /// An external server is still to be checked for trouble: truetps may be killed until then.
    pub(crate) awaits_check: bool,
}

impl TrialEvidence {
    /// Nothing was measured yet.
    pub(crate) fn new() -> Self {
        Self {
            load: Validity::partial(NoEvidence::NotEnded),
            server: ServerState::NotReady,
            trouble: None,
            parts: None,
            awaits_check: false,
        }
    }

    /// The state of the server decides first, whatever the clients measured.
    pub(crate) fn validity(&self) -> Validity {
        match (&self.trouble, &self.server) {
            (Some(change), _) => {
                Validity::invalid(NoEvidence::ServerChanged { change: change.clone() })
            }
            (None, ServerState::Gone(reason)) => Validity::invalid(reason.clone()),
            (None, ServerState::NotReady | ServerState::Answers) => match &self.parts {
                Some(problem) if self.load.is_valid() => {
                    Validity::invalid(NoEvidence::PartsApart { problem: problem.clone() })
                }
                _ if self.load.is_valid() && self.awaits_check => {
                    Validity::partial(NoEvidence::ServerNotChecked)
                }
                _ => self.load.clone(),
            },
        }
    }

    /// Whether the next trial can use the same server: an invalid trial may have left sessions that
    /// hang in it.
    pub(crate) fn is_server_usable(&self) -> bool {
        self.server == ServerState::Answers && !matches!(self.load, Validity::Invalid(_))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changed(change: &str) -> Validity {
        Validity::invalid(NoEvidence::ServerChanged { change: change.to_owned() })
    }

    #[test]
    fn the_server_s_state_outweighs_the_load() {
        let gone = || {
            ServerState::Gone(NoEvidence::ServerDied { status: "signal 9".to_owned(), log: None })
        };
        let died = || {
            Validity::invalid(NoEvidence::ServerDied { status: "signal 9".to_owned(), log: None })
        };
        let failed = || Validity::invalid(NoEvidence::ClientFailed { error: None });
        let check = |load: Validity,
                     server: ServerState,
                     trouble: Option<&str>,
                     expect: Validity,
                     usable: bool| {
            let trouble = trouble.map(str::to_owned);
            let evidence = TrialEvidence { load, server, trouble, ..TrialEvidence::new() };
            assert_eq!(evidence.validity(), expect, "{evidence:?}");
            assert_eq!(evidence.is_server_usable(), usable, "{evidence:?}");
        };
        check(Validity::Valid, ServerState::Answers, None, Validity::Valid, true);
        check(failed(), ServerState::Answers, None, failed(), false);
        check(Validity::Valid, gone(), None, died(), false);
        check(failed(), gone(), None, died(), false);
        check(Validity::Valid, ServerState::Answers, Some("restarted"), changed("restarted"), true);
        check(Validity::Valid, gone(), Some("restarted"), changed("restarted"), false);
        check(failed(), ServerState::NotReady, None, failed(), false);
        let interrupted = || Validity::partial(NoEvidence::Interrupted);
        check(interrupted(), ServerState::Answers, None, interrupted(), true);
        check(interrupted(), ServerState::Answers, Some("restarted"), changed("restarted"), true);
    }

    #[test]
    fn figures_are_not_valid_before_the_server_was_checked() {
        let mut evidence = TrialEvidence {
            server: ServerState::Answers,
            load: Validity::Valid,
            awaits_check: true,
            ..TrialEvidence::new()
        };
        assert!(matches!(evidence.validity(), Validity::Partial(_)));
        evidence.load = changed("x");
        assert_eq!(evidence.validity(), changed("x"));
    }
}
