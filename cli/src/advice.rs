//! Errors of the library for the command line: the remedy is a flag, not an item of Rust.

use broadsweep::Error;

/// Returns an error in one line, with its causes. An error of the library ends the line, since its text includes its
/// own cause; the remedy in it is a flag.
pub fn line(error: &anyhow::Error) -> String {
    let mut line = Vec::new();
    for cause in error.chain() {
        let ours = cause.downcast_ref::<Error>();
        line.push(ours.map_or_else(|| cause.to_string(), in_flags));
        if ours.is_some() {
            break;
        }
    }
    line.join(": ")
}

/// Returns the message of an error of the library, with flags as the remedy.
pub fn in_flags(error: &Error) -> String {
    match error {
        Error::NoAdapter { reason, .. } => format!(
            "no GPU adapter found ({reason}). Install a Vulkan, Metal or Direct3D 12 driver, or a software driver \
             (Debian: apt-get install mesa-vulkan-drivers), or take --engine cpu"
        ),
        Error::NoDevice { adapter, reason, .. } => format!(
            "{adapter} refused a device: {reason}. Update its driver, select another adapter with --adapter, or take \
             --engine cpu"
        ),
        Error::DeviceTooSmall { limit, required, available } => format!(
            "the adapter has {limit} = {available}, and {required} is needed. Select another adapter with --adapter, or \
             take --engine cpu"
        ),
        Error::TooManyBoxes { box_count, buffer, required, limit, available, max_boxes } => format!(
            "{box_count} boxes need {required} bytes for `{buffer}`, and {limit} is {available}. At most {max_boxes} \
             fit at once: --engine gpu searches more in slabs unless too many overlap in one place, and --engine cpu \
             takes up to 33554432"
        ),
        Error::OverBudget { box_count, required, budget } => format!(
            "{box_count} boxes need at least {required} bytes of GPU memory, and --memory-budget is {budget}. Raise \
             it, or take --engine cpu"
        ),
        Error::TooManyCandidates { candidate_count, limit } => format!(
            "{candidate_count} candidates to test, and the limit is {limit}. The boxes overlap too much to list their \
             pairs, or --cell-size is far too large; otherwise raise --candidate-limit"
        ),
        Error::ListTooLong { pair_count, required } => format!(
            "{pair_count} pairs need {required} bytes of memory, which the system does not have. --engine gpu streams pairs to \
             --out, without --verify and --by-world"
        ),
        Error::BadOption { option, value, expected } => {
            let option = if option.starts_with("CellSize") { "--cell-size" } else { option };
            format!("{option} is {value}; it must be {expected}")
        }
        Error::OutOfMemory { buffer, bytes } => match buffer.strip_suffix(" on the host") {
            Some(what) => format!("the system does not have {bytes} bytes of memory for {what}"),
            None => {
                let size = if *bytes == 0 { String::new() } else { format!("{bytes} bytes for ") };
                format!(
                    "the GPU ran out of memory while allocating {size}`{buffer}`. Give a lower --memory-budget, free \
                     GPU memory, or take --engine cpu"
                )
            }
        },
        Error::DeviceLost { reason, .. } => {
            format!("the GPU device was lost ({reason}). Run it again, or take --engine cpu")
        }
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns an error of each kind that the library has for a user of the binary.
    fn errors() -> Vec<Error> {
        let text = || "text".to_owned();
        let limit = "max_buffer_size";
        vec![
            Error::NoAdapter { reason: text(), cause: None },
            Error::NoDevice { adapter: text(), reason: text(), cause: None },
            Error::DeviceTooSmall { limit, required: 2, available: 1 },
            Error::TooManyBoxes { box_count: 9, buffer: "boxes", required: 9, limit, available: 8, max_boxes: 8 },
            Error::OverBudget { box_count: 9, required: 9, budget: 8 },
            Error::TooManyCandidates { candidate_count: 9, limit: 8 },
            Error::ListTooLong { pair_count: 9, required: 72 },
            Error::BadOption { option: "CellSize::Fixed", value: text(), expected: "positive and finite" },
            Error::FilterLength { list: "world", length: 9, box_count: 8 },
            Error::BadFilter { list: "margin", index: Some(9), problem: text() },
            Error::OutOfMemory { buffer: text(), bytes: 9 },
            Error::OutOfMemory { buffer: "a slab's boxes on the host".to_owned(), bytes: 9 },
            Error::DeviceLost { reason: text(), cause: None },
            Error::Gpu { label: text(), message: text(), cause: None },
        ]
    }

    #[test]
    fn no_message_names_an_item_of_rust() {
        for error in errors() {
            let message = in_flags(&error);
            for item in ["::", "Options", "BroadPhase", "Gpu", "find_pairs", "stream_pairs", "required_limits"] {
                assert!(!message.contains(item), "{message}");
            }
        }
    }

    #[test]
    fn whatever_an_option_can_mend_names_its_flag() {
        for (error, flag) in [
            (Error::OverBudget { box_count: 9, required: 9, budget: 8 }, "--memory-budget"),
            (Error::TooManyCandidates { candidate_count: 9, limit: 8 }, "--candidate-limit"),
            (Error::OutOfMemory { buffer: "stretches".to_owned(), bytes: 9 }, "--memory-budget"),
            (Error::NoAdapter { reason: "none".to_owned(), cause: None }, "--engine cpu"),
        ] {
            assert!(in_flags(&error).contains(flag), "{error}");
        }
    }

    #[test]
    fn a_cause_is_put_in_flags_wherever_it_stands_in_the_chain() {
        let error = Error::OverBudget { box_count: 9, required: 9, budget: 8 };
        let line = line(&anyhow::Error::from(error.clone()).context("cannot go on"));
        assert_eq!(line, format!("cannot go on: {}", in_flags(&error)));
    }
}
