"""Listen, label, and agree: a small web app over a run."""
