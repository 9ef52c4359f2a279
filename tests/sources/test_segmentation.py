"""Texts cut into sentences, also where somebody speaks; what is blank, too long or left whole is in test_catalogue."""

import pytest

from clsviz.sources.segmentation import sentences

DOUBLE = [
    "“I doubt it.| She has two sons of her own.| She is a proud woman.”",
    "“Come in!” cried the old man.",
    "“Come in,” said the old man.| “It is cold outside.”",
    "He said: “The door is open.| Go in.”| Nobody moved.",
    "“Where were you?” she asked.| “At home.”",
    "“Stop.| Do you hear me?| Stop!”| The dog ran on.",
    '"It rained all day.| We stayed inside," she wrote.| "Then the sun came out."',
    'The sign said "Closed."| They went home.',
    "“No,” he said, “I will not.| It is too late.”",
    "She called it “a small thing”.| Nobody agreed.",
    "“Have you read ‘The Lamp’?| It is short.”| “I have.”",
    "“You say that it is yours.| Prove it.”",
    "They shouted “Fire!” and ran.",
    "“The bill is $3.50.| Pay it at once.”",
    "“Mr. Hill is here.| He wants to see Dr. Moon.”",
    "He wrote: “I was there.| I saw it.”| Then he left.",
    "“Well!”| She did not finish.",
    "“Who’s there?| It’s me!”| The boys’ dog barked.",
    "“One.”| “Two.”| “Three.”",
    "A quotation without an end: “It began in May.| It ended in June.",
]

SINGLE = [
    "‘I doubt it.| She has two sons of her own.| She is a proud woman.’",
    "‘Come in!’ cried the old man.",
    "‘Come in,’ said the old man.| ‘It is cold outside.’",
    "He said: ‘The door is open.| Go in.’| Nobody moved.",
    "‘Where were you?’ she asked.| ‘At home.’",
    "'Stop.| Do you hear me?| Stop!'| The dog ran on.",
    "'It rained all day.| We stayed inside,' she wrote.| 'Then the sun came out.'",
    "‘Who’s there?| It’s me!’| The boys’ dog barked.",
    "‘No,’ he said, ‘I will not.| It is too late.’",
    "She called it ‘a small thing’.| Nobody agreed.",
    "‘Have you read “The Lamp”?| It is short.’| ‘I have.’",
    "‘You say that it isn’t yours.| Prove it.’",
    "They shouted ‘Fire!’ and ran.",
    "’Twas late.| The boys’ coats were wet.| They’d lost their hats.",
    "'Tis the season.| The '90s are over.| Rock 'n' roll is not.",
    "‘Mr. Hill is here.| He wants to see Dr. Moon.’",
    "The dogs' bowls were empty.| The cats' were full.",
    "‘The workers’ hall is closed.| Try the workers’ club.’",
    "‘One.’| ‘Two.’| ‘Three.’",
    "Don't go.| It's late.| I'm tired.",
]

GERMAN = [
    "„I doubt it.| She has two sons of her own.| She is a proud woman.“",
    "„Come in!“ cried the old man.",
    "„Come in“, said the old man.| „It is cold outside.“",
    "He said: „The door is open.| Go in.“| Nobody moved.",
    "„Where were you?“ she asked.| „At home.“",
    "„Stop.| Do you hear me?| Stop!“| The dog ran on.",
    "„It rained all day.| We stayed inside“, she wrote.| „Then the sun came out.“",
    "The sign said „Closed.“| They went home.",
    "„No“, he said, „I will not.| It is too late.“",
    "She called it „a small thing“.| Nobody agreed.",
    "„Have you read ‚The Lamp‘?| It is short.“| „I have.“",
    "„You say that it is yours.| Prove it.“",
    "They shouted „Fire!“ and ran.",
    "„Who’s there?| It’s me!“| The boys’ dog barked.",
    "»Stop.| Do you hear me?| Stop!«| The dog ran on.",
    "„Mr. Hill is here.| He wants to see Dr. Moon.“",
    "He wrote: „I was there.| I saw it.“| Then he left.",
    "„Well!“| She did not finish.",
    "„One.“| „Two.“| „Three.“",
    "A quotation without an end: „It began in May.| It ended in June.",
]

FRENCH = [
    "« I doubt it.| She has two sons of her own.| She is a proud woman. »",
    "« Come in ! » cried the old man.",
    "« Come in », said the old man.| « It is cold outside. »",
    "He said: « The door is open.| Go in. »| Nobody moved.",
    "« Where were you? » she asked.| « At home. »",
    "« Stop.| Do you hear me?| Stop! »| The dog ran on.",
    "« It rained all day.| We stayed inside », she wrote.| « Then the sun came out. »",
    "The sign said « Closed. »| They went home.",
    "« No », he said, « I will not.| It is too late. »",
    "She called it « a small thing ».| Nobody agreed.",
    "« Have you read “The Lamp”?| It is short. »| « I have. »",
    "« You say that it is yours.| Prove it. »",
    "They shouted « Fire! » and ran.",
    "« Who’s there?| It’s me! »| The boys’ dog barked.",
    "«Stop.| Do you hear me?| Stop!»| The dog ran on.",
    "« Mr. Hill is here.| He wants to see Dr. Moon. »",
    "He wrote: « I was there.| I saw it. »| Then he left.",
    "‹ Well! ›| She did not finish.",
    "« One. »| « Two. »| « Three. »",
    "A quotation without an end: « It began in May.| It ended in June.",
]


@pytest.mark.parametrize("marked", [*DOUBLE, *SINGLE, *GERMAN, *FRENCH])
def test_what_is_said_is_cut_into_sentences(marked: str) -> None:
    assert sentences([marked.replace("|", "")], cut=True) == [piece.strip() for piece in marked.split("|")]
