//! Datasets that are gathered on a schedule.
