//! The cost of one request on the wire, in budget and quotas.

use super::{Gate, Quotas};
use crate::error::SourceErrorKind;

/// The gate and the quotas that a request passes before it is sent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Toll<'a> {
    pub(crate) gate: &'a Gate,
    pub(crate) quotas: Option<&'a Quotas>,
}

/// The cost that a request paid, so that it can be corrected.
#[derive(Debug)]
pub(crate) struct Paid {
    grant: Option<u64>,
}

impl Toll<'_> {
    /// Takes the weight of one request, and one call of each quota. A request without weight takes
    /// nothing.
    ///
    /// # Errors
    ///
    /// One of the kinds for which [`SourceErrorKind::is_kept_back`] holds.
    pub(crate) async fn pay(&self, weight: u32) -> Result<Paid, SourceErrorKind> {
        if weight == 0 {
            self.gate.held()?;
            return Ok(Paid { grant: None });
        }
        if let Some(quotas) = self.quotas {
            quotas.check()?;
        }
        let grant = self.gate.take(weight).await?;
        if let Some(quotas) = self.quotas {
            quotas.take().await?;
        }
        Ok(Paid { grant })
    }

    /// Corrects the weight of a request.
    pub(crate) fn correct(&self, paid: &Paid, weight: u32) {
        if let Some(grant) = paid.grant {
            self.gate.correct(grant, weight);
        }
    }
}
