//! A series of waits in fewer steps.

use super::sessions::WaitSeries;

impl WaitSeries {
    /// So many neighbouring steps as one: means over time. `None` where there is no step.
    pub fn joined(&self, steps: usize) -> Option<Self> {
        let (last, starts) = self.edges_ms.split_last()?;
        let lengths: Vec<_> = self.edges_ms.windows(2).map(|edge| edge[1] - edge[0]).collect();
        let classes = self.classes.iter().map(|(class, values)| {
            let steps = values.chunks(steps).zip(lengths.chunks(steps));
            (*class, steps.map(|(values, lengths)| mean_over_time(values, lengths)).collect())
        });
        Some(Self {
            source: self.source,
            sampled: self.sampled.clone(),
            edges_ms: starts.iter().step_by(steps).chain([last]).copied().collect(),
            classes: classes.collect(),
        })
    }
}

fn mean_over_time(values: &[f64], lengths: &[f64]) -> f64 {
    let sum: f64 = values.iter().zip(lengths).map(|(value, length)| value * length).sum();
    sum / lengths.iter().sum::<f64>().max(1e-9)
}

#[cfg(test)]
mod tests {
    use super::super::sessions::WaitSource;
    use super::*;
    use crate::wait_class::WaitClass;

    #[test]
    fn joined_steps_are_means_over_time() {
        let series = WaitSeries {
            source: WaitSource::Timed,
            sampled: Vec::new(),
            edges_ms: vec![0.0, 1000.0, 4000.0, 5000.0],
            classes: vec![(WaitClass::RedoFlush, vec![4.0, 0.0, 2.0])],
        };
        assert_eq!(series.joined(1).as_ref(), Some(&series));
        let two = series.joined(2).unwrap();
        assert_eq!(
            (&two.edges_ms[..], &two.classes[0].1[..]),
            (&[0.0, 4000.0, 5000.0][..], &[1.0, 2.0][..])
        );
    }
}
