//! Means with confidence intervals, and geometric means.

/// A mean and half of the width of its 95 % confidence interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Mean {
    pub(crate) value: f64,
    pub(crate) half: f64,
}

/// Of Student's distribution, 95 %, by degrees of freedom from 1 on.
const STUDENT: [f64; 10] = [12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228];

#[expect(clippy::cast_precision_loss, reason = "there are some repetitions")]
pub(crate) fn mean(values: &[f64]) -> Mean {
    let n = values.len() as f64;
    let value = values.iter().sum::<f64>() / n;
    let Some(freedom) = values.len().checked_sub(1).filter(|freedom| *freedom > 0) else {
        return Mean { value, half: 0.0 };
    };
    let variance = values.iter().map(|x| (x - value).powi(2)).sum::<f64>() / freedom as f64;
    let student = STUDENT.get(freedom - 1).copied().unwrap_or(1.96);
    Mean { value, half: student * (variance / n).sqrt() }
}

/// Of what is above 0. None of nothing.
#[expect(clippy::cast_precision_loss, reason = "there are some numbers")]
pub(crate) fn geometric(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    let logarithms: Vec<_> = values.into_iter().filter(|value| *value > 0.0).map(f64::ln).collect();
    let sum: f64 = logarithms.iter().sum();
    (!logarithms.is_empty()).then(|| (sum / logarithms.len() as f64).exp())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_numbers_have_no_interval() {
        assert_eq!(mean(&[3.0, 3.0, 3.0]), Mean { value: 3.0, half: 0.0 });
        assert_eq!(mean(&[3.0]), Mean { value: 3.0, half: 0.0 });
    }

    #[test]
    fn an_interval_is_as_in_tables_of_student() {
        // The deviation is 1, so the half is 12.706 / √2 · √2 / 2 · 2 of two numbers that are 2 apart.
        let two = mean(&[1.0, 3.0]);
        assert!((two.value - 2.0).abs() < 1e-9 && (two.half - 12.706).abs() < 1e-9, "{two:?}");
    }

    #[test]
    fn a_geometric_mean_is_between_its_ends() {
        assert!(geometric([1.0, 100.0]).is_some_and(|mean| (mean - 10.0).abs() < 1e-9));
        assert_eq!(geometric([]), None);
    }
}
