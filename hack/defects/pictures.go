package main

// pictureDefects are defects of the pictures that staff uploads.
func pictureDefects() []defectCase {
	const pictureFolder = "services/picture"
	return []defectCase{
		{"room is made for all pixels that a small file announces", []codeEdit{
			{pictureFolder, "Encode", "size.Width > contract.MaxPictureSide || size.Height > contract.MaxPictureSide", "size.Width < 0"},
		}, pictureFolder, "TestEncodeRefuses/a_PNG_that_is_too_wide"},
		{"what is behind the pixels of a file is served", []codeEdit{
			{pictureFolder, "Encode", "out.Bytes()", "data"},
		}, apiFolder, "TestPicture"},
		{"staff lists and removes the pictures of other channels", []codeEdit{
			{pictureFolder, "Channel.list", `c.name(key.Pictures, "")`, `Channel{c.Environment, c.Extension, ""}.name(key.Pictures, "")`},
		}, apiFolder, "TestPicturesAreOfStaff"},
	}
}
