//! Markets outside of crypto.

use readings::macro_data::Instrument;

use super::{NOW, probed, questions};
use crate::{cboe::Cboe, frankfurter::Frankfurter, fred::Fred, treasury::Treasury, yahoo::Yahoo};

probed!(Fred, |this| questions! { "fred";
    ["fred.series", "fred.chart-csv"] => this.latest(&Instrument::US10Y, NOW),
});

probed!(Yahoo, |this| questions! { "yahoo";
    ["yahoo.chart"] => this.price(&Instrument::VIX, NOW),
});

probed!(Cboe, |this| questions! { "cboe";
    ["cboe.vix"] => this.vix(NOW),
});

probed!(Treasury, |this| questions! { "treasury";
    ["treasury.yield-curve"] => this.curve(NOW),
});

probed!(Frankfurter, |this| questions! { "frankfurter";
    ["frankfurter.rates"] => this.rates(NOW),
});
