//! Folders that were edited, or have lost a trial, since they were written.

use std::path::Path;

use truetps_folder::ExperimentFolder;
use truetps_plan::Plan;
use truetps_record::{Experiment, SettingValue, TrialRole};

use super::{Bench, Silent, Turn, script};
use crate::experiment::ExperimentRequest;
use crate::find_max::search_goes_on;
use crate::resume::resume_on;

/// One change of a folder's files.
type Edit = fn(&mut Plan, &mut Experiment);

/// Refuses to go on with the folder after the change, before anything is prepared, and restores it.
fn refused_after(bench: &Bench, folder: &ExperimentFolder, edit: Edit) -> String {
    let (was, experiment) = (folder.plan().unwrap(), folder.experiment().unwrap());
    let (mut plan, mut edited) = (was.clone(), experiment.clone());
    edit(&mut plan, &mut edited);
    folder.write_plan(&plan).unwrap();
    folder.write_experiment(&edited).unwrap();
    let request = ExperimentRequest { plan: &plan, ..bench.request() };
    let error = resume_on(&request, folder, &mut Silent, |_, _, _| panic!("prepared")).unwrap_err();
    assert!(error.is_usage() && error.hint().is_some(), "{error}");
    folder.write_plan(&was).unwrap();
    folder.write_experiment(&experiment).unwrap();
    error.to_string()
}

#[test]
fn an_edited_search_is_refused_before_anything_is_prepared() {
    let bench = Bench::new();
    let turns = [vec![Turn::Works; 4], vec![Turn::Interrupted]].concat();
    let folder = bench.find_max(script(&turns)).0.folder;
    let edits: [(Edit, &str); 13] = [
        (|_, it| it.slo = Some("p99<9s".parse().unwrap()), "`slo` of the experiment"),
        (|_, it| it.slo = None, "`slo` of the experiment was \"p99<1s\", and is not set now"),
        (|_, it| it.seed = 43, "`seed` of experiment.json was 42, and is 43"),
        (|plan, _| plan.design.seed = 43, "`design.seed` of plan.toml was 42, and is 43 now"),
        (|plan, _| plan.load.measure_s = 0.1, "`load.measure_s` of plan.toml"),
        (
            |plan, _| drop(plan.factors.insert("connections".to_owned(), vec![level(9)])),
            "`factors.connections` of plan.toml was [1,2], and is [9] now",
        ),
        (
            |plan, _| plan.factors["rate"].retain(|rate| *rate != level(787)),
            "`factors.rate` of plan.toml does not have 787 any more",
        ),
        (
            |plan, _| plan.workload.table_rows = 7,
            "`workload.table_rows` of plan.toml was 200000, and is 7 now",
        ),
        (|_, it| it.schedule[1].role = TrialRole::AaTwin, "trial-0002 was measured as another"),
        (|_, it| it.schedule[1].block = 7, "trial-0002 was measured as another"),
        (|_, it| it.schedule[1].mixture = Some("3".to_owned()), "trial-0002 is not what the"),
        (|_, it| it.schedule.clear(), "trial-0001 was measured, and is not in it"),
        (|_, it| drop(it.schedule.remove(1)), "trial-0003 is in the place of trial 2"),
    ];
    for (edit, words) in edits {
        let refused = refused_after(&bench, &folder, edit);
        assert!(refused.contains(words), "{refused}");
    }
    assert_eq!(bench.resume(&folder, script(&[])).unwrap().gave_up, None, "it is restored");
}

fn level(number: i64) -> SettingValue {
    SettingValue::Int(number)
}

#[test]
fn an_edited_sweep_is_refused_before_anything_is_prepared() {
    let bench = Bench::new();
    let folder = bench.start(script(&[Turn::Works, Turn::Interrupted])).unwrap().folder;
    let edits: [(Edit, &str); 8] = [
        (|_, it| it.slo = Some("p99<9s".parse().unwrap()), "`slo` of the experiment was not set"),
        (|plan, _| plan.design.seed = 43, "`design.seed` of plan.toml was 42, and is 43 now"),
        (|plan, _| plan.factors["connections"].push(level(9)), "`factors.connections` of"),
        (|plan, _| plan.probe.enabled = false, "`probe.enabled` of plan.toml was true"),
        (|_, it| it.schedule[5].role = TrialRole::AaTwin, "plan and seed lead to other trials"),
        (|_, it| it.schedule[5].configuration.levels["connections"] = level(7), "other trials"),
        (|_, it| it.schedule.truncate(4), "its plan and seed lead to other trials"),
        (|_, it| it.schedule.clear(), "trial-0001 was measured, and is not in it"),
    ];
    for (edit, words) in edits {
        let refused = refused_after(&bench, &folder, edit);
        assert!(refused.contains(words), "{refused}");
    }
    assert_eq!(bench.resume(&folder, script(&[])).unwrap().gave_up, None, "it is restored");
}

/// The trials after it follow from its result: another result would lead elsewhere.
#[test]
fn a_search_whose_early_trial_is_lost_says_so_once() {
    for lose in [remove_trial as fn(&Path), cut_trial] {
        let bench = Bench::new();
        let turns = [vec![Turn::Works; 4], vec![Turn::Interrupted]].concat();
        let folder = bench.find_max(script(&turns)).0.folder;
        lose(&folder.path().join("trial-0002"));
        let refused = refused_after(&bench, &folder, |_, _| ());
        assert!(refused.contains("trial-0002"), "{refused}");
        let experiment = folder.experiment().unwrap();
        assert!(!search_goes_on(&folder, &experiment, &"p99<1s".parse().unwrap()));
    }
}

fn remove_trial(path: &Path) {
    std::fs::remove_dir_all(path).unwrap();
}

fn cut_trial(path: &Path) {
    std::fs::remove_file(path.join("run.json")).unwrap();
}
