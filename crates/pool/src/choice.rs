//! Which numbers of connections are measured next, from the curve so far.

use crate::curve::FittedCurve;

/// A gap beside a number with this part of the best may hide a better one.
const MAY_HIDE: f64 = 0.88;
/// Numbers closer than this have no other between them in the refinement.
const WIDE: f64 = 1.3;
/// Numbers that are closer than this count as one.
const RESOLUTION: f64 = 1.12;
/// A number so far below the threshold shows how steep the curve is there.
const BELOW: f64 = 1.25;

/// The middles of the gaps in which a peak may be hidden, and the ends of these gaps. Empty where
/// no gap is wide.
pub(crate) fn middles(curve: &FittedCurve) -> Vec<u32> {
    let best = curve.points.iter().map(|point| point.tps_smoothed).fold(0.0, f64::max);
    let gaps = curve.points.windows(2);
    let gaps = gaps.filter(|pair| pair.iter().any(|end| end.tps_smoothed >= MAY_HIDE * best));
    let ends = gaps.map(|pair| (pair[0].connections, pair[1].connections));
    let (mut numbers, mut is_any_wide) = (Vec::new(), false);
    for (low, high) in ends {
        let middle = middle(low, high);
        is_any_wide |= middle.is_some();
        numbers.extend([low, high].into_iter().chain(middle));
    }
    if is_any_wide { ascending(numbers) } else { Vec::new() }
}

/// The geometric middle of two numbers that are far from each other.
fn middle(low: u32, high: u32) -> Option<u32> {
    let is_wide = f64::from(high) > WIDE * f64::from(low);
    let middle = (f64::from(low) * f64::from(high)).sqrt().round() as u32;
    (is_wide && middle > low && middle < high).then_some(middle)
}

/// Where the curve reaches the share that is aimed at, a number below it, the best one, one that
/// may be better, and what is between the best one and those over the limit.
pub(crate) fn deciding(curve: &FittedCurve, most: u32) -> Vec<u32> {
    // The advice itself, where it is another one: its p99 keeps the limit more surely.
    let advice = curve.advice();
    let curve = &curve.hopeful();
    let Some(threshold) = curve.threshold() else { return Vec::new() };
    let at = measured_near(curve, threshold, most);
    let mut numbers = vec![at, measured_near(curve, f64::from(at) / BELOW, most)];
    numbers.extend(curve.best());
    numbers.extend(promising(curve));
    numbers.extend(at_limit(curve));
    numbers.extend(advice);
    ascending(numbers)
}

/// A number that was measured, where one is so near that the two count as one.
fn measured_near(curve: &FittedCurve, wanted: f64, most: u32) -> u32 {
    let near = curve.points.iter().filter(|point| point.distance(wanted) <= RESOLUTION.ln());
    let nearest = near.min_by(|a, b| a.distance(wanted).total_cmp(&b.distance(wanted)));
    let new = (wanted.round() as u32).clamp(1, most);
    nearest.map_or(new, |point| point.connections)
}

/// The number whose trials alone, one standard error better than they are, would be the best.
fn promising(curve: &FittedCurve) -> Option<u32> {
    let fit = &curve.fit;
    let bounds = curve
        .allowed
        .iter()
        .map(|index| (*index, fit.means[*index] + fit.sd / fit.counts[*index].sqrt()));
    let (found, _) = bounds.max_by(|a, b| a.1.total_cmp(&b.1))?;
    Some(curve.connections(found))
}

/// Between the best number and the next larger one, if that does not keep the limit: their middle,
/// or the larger one itself while it is not sure.
fn at_limit(curve: &FittedCurve) -> Option<u32> {
    let best = curve.top?;
    let next = curve.points.get(best + 1).filter(|_| !curve.allowed.contains(&(best + 1)))?;
    let low = curve.points[best].connections;
    let is_apart = f64::from(next.connections) > RESOLUTION.powi(2) * f64::from(low);
    let between = (f64::from(low) * f64::from(next.connections)).sqrt().round() as u32;
    if is_apart && between > low && between < next.connections {
        return Some(between);
    }
    next.is_near_limit.then_some(next.connections)
}

pub(crate) fn ascending(mut numbers: Vec<u32>) -> Vec<u32> {
    numbers.sort_unstable();
    numbers.dedup();
    numbers
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::question::tests::made_up;

    #[test]
    fn a_peak_may_be_hidden_beside_what_is_near_the_best() {
        let curve =
            made_up(&[(1, 100.0), (4, 400.0), (8, 800.0), (16, 1_000.0), (32, 900.0), (64, 500.0)]);
        assert_eq!(middles(&curve), [8, 11, 16, 23, 32, 45, 64]);
        assert_eq!(middles(&made_up(&[(1, 100.0), (2, 90.0)])), [] as [u32; 0]);
    }

    /// 26.2 is where the curve reaches 97 %; 21 is 1.25 times less.
    #[test]
    fn trials_go_to_where_the_advice_is_decided() {
        let curve = made_up(&[(4, 400.0), (8, 700.0), (16, 900.0), (32, 1_000.0), (64, 1_000.0)]);
        assert_eq!(deciding(&curve, 512)[..2], [21, 26]);
        assert!(deciding(&curve, 512).contains(&32), "the best one");
    }
}
