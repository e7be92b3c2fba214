//! The validity of a trial, from everything that was found out about it.

use truetps_record::Validity;

/// The state of a server after a trial.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ServerState {
    /// It was not ready for the trial.
    NotReady,
    Answers,
    /// It died or hangs, for this reason.
    Gone(String),
}

/// What is known about a trial.
#[derive(Debug)]
pub(crate) struct TrialEvidence {
    /// The load's own validity, or why there was none.
    pub(crate) load: Validity,
    pub(crate) server: ServerState,
    /// Why an external server was not the same during the whole trial.
    pub(crate) trouble: Option<String>,
}

impl TrialEvidence {
    /// Nothing was measured yet.
    pub(crate) fn new() -> Self {
        Self {
            load: Validity::Partial("truetps ended before the trial did".to_owned()),
            server: ServerState::NotReady,
            trouble: None,
        }
    }

    /// The state of the server decides first, whatever the clients measured.
    pub(crate) fn validity(&self) -> Validity {
        match (&self.trouble, &self.server) {
            (Some(reason), _) | (None, ServerState::Gone(reason)) => Validity::Invalid(reason.clone()),
            (None, ServerState::NotReady | ServerState::Answers) => self.load.clone(),
        }
    }

    /// The validity that is written before an external server is checked for trouble: truetps may be killed until then.
    pub(crate) fn validity_before_check(&self) -> Validity {
        match self.validity() {
            Validity::Valid => Validity::Partial("truetps ended before it had checked the server".to_owned()),
            other => other,
        }
    }

    /// Whether the next trial can use the same server: an invalid trial may have left sessions that hang in it.
    pub(crate) fn is_server_usable(&self) -> bool {
        self.server == ServerState::Answers && !matches!(self.load, Validity::Invalid(_))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn invalid(reason: &str) -> Validity {
        Validity::Invalid(reason.to_owned())
    }

    #[test]
    fn the_server_s_state_outweighs_the_load() {
        let gone = || ServerState::Gone("died".to_owned());
        let check = |load: Validity, server: ServerState, trouble: Option<&str>, expect: Validity, usable: bool| {
            let evidence = TrialEvidence { load, server, trouble: trouble.map(str::to_owned) };
            assert_eq!(evidence.validity(), expect, "{evidence:?}");
            assert_eq!(evidence.is_server_usable(), usable, "{evidence:?}");
        };
        check(Validity::Valid, ServerState::Answers, None, Validity::Valid, true);
        check(invalid("failed"), ServerState::Answers, None, invalid("failed"), false);
        check(Validity::Valid, gone(), None, invalid("died"), false);
        check(invalid("failed"), gone(), None, invalid("died"), false);
        check(Validity::Valid, ServerState::Answers, Some("restarted"), invalid("restarted"), true);
        check(Validity::Valid, gone(), Some("restarted"), invalid("restarted"), false);
        check(invalid("not prepared"), ServerState::NotReady, None, invalid("not prepared"), false);
        let interrupted = || Validity::Partial("interrupted".to_owned());
        check(interrupted(), ServerState::Answers, None, interrupted(), true);
        check(interrupted(), ServerState::Answers, Some("restarted"), invalid("restarted"), true);
    }

    #[test]
    fn figures_are_not_valid_before_the_server_was_checked() {
        let mut evidence = TrialEvidence { load: Validity::Valid, server: ServerState::Answers, trouble: None };
        assert!(matches!(evidence.validity_before_check(), Validity::Partial(_)));
        evidence.load = invalid("failed");
        assert_eq!(evidence.validity_before_check(), invalid("failed"));
    }
}
